import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { chunkText, STREAM_CHUNKS, usage } from './workload.ts'

// The mock provider, a process of its own. POST /<label>/<delay ms>/<spacing ms>/v1/chat/completions answers
// with about 1 KB of JSON, or with a stream of STREAM_CHUNKS chunks. GET /counts says how many calls of each
// label were received: the witness that charges are compared with.

const answer = JSON.stringify({
  id: 'chatcmpl-mock',
  object: 'chat.completion',
  created: 1_767_225_600,
  model: 'mock',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'The train leaves at ten. '.repeat(32).trim() },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage,
})

const head = {
  id: 'chatcmpl-mock',
  object: 'chat.completion.chunk',
  created: 1_767_225_600,
  model: 'mock',
}
const frame = (rest: object) => `data: ${JSON.stringify({ ...head, ...rest })}\n\n`
const delta = (content: object, finish_reason: string | null) =>
  frame({ choices: [{ index: 0, delta: content, finish_reason }] })
const frames = [
  ...Array.from({ length: STREAM_CHUNKS }, (_, n) => {
    const text = delta({ content: chunkText(n) }, n === STREAM_CHUNKS - 1 ? 'stop' : null)
    return n === 0 ? delta({ role: 'assistant', content: '' }, null) + text : text
  }),
  `${frame({ choices: [], usage })}data: [DONE]\n\n`,
]

const counts = new Map<string, number>()

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.url === '/counts') {
    response.end(JSON.stringify(Object.fromEntries(counts)))
    return
  }
  const [, label = '', delay = '0', spacing = '0'] = (request.url ?? '').split('/')
  read(request, (body) => {
    counts.set(label, (counts.get(label) ?? 0) + 1)
    const begin = () => {
      if (body.includes('"stream":true')) stream(response, Number(spacing))
      else {
        response.writeHead(200, {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(answer),
        })
        response.end(answer)
      }
    }
    if (delay === '0') begin()
    else setTimeout(begin, Number(delay))
  })
})

function read(request: IncomingMessage, done: (body: string) => void): void {
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (text: string) => {
    body += text
  })
  request.on('end', () => done(body))
}

function stream(response: ServerResponse, spacingMs: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let n = 0
  const next = () => {
    if (n === frames.length || response.destroyed) {
      response.end()
      return
    }
    response.write(frames[n])
    n += 1
    if (spacingMs === 0) next()
    else setTimeout(next, spacingMs)
  }
  next()
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
// The benchmark is gone: nobody needs this process any more.
process.on('disconnect', () => process.exit())
