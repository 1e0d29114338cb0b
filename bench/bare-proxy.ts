import { createServer, type ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'

// The least a gateway can do: read a request, send it on, send the answer back. No keys, no bill, no checks.
// It forwards to the origin in its first argument, under the path it was called with.

const pool = new Pool(process.argv[2] ?? '', { connections: 512, pipelining: 1 })

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const headers = ['content-type', 'application/json']
    const body = Buffer.concat(chunks)
    pool.dispatch({ path: request.url ?? '/', method: 'POST', headers, body }, forwarding(response))
  })
})

function forwarding(response: ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart: () => undefined,
    onResponseStart(controller, status, headers) {
      response.writeHead(status, { 'content-type': String(headers['content-type']) })
      response.on('drain', () => controller.resume())
      response.on('close', () => {
        if (!response.writableFinished) controller.abort(new Error('the client is gone'))
      })
    },
    onResponseData(controller, chunk) {
      if (!response.write(chunk)) controller.pause()
    },
    onResponseEnd() {
      response.end()
    },
    onResponseError() {
      if (!response.headersSent) response.writeHead(502)
      response.end()
    },
  }
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
process.on('disconnect', () => process.exit())
