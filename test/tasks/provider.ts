import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Where the process that works on a task is when it is killed. */
export const points = ['posting', 'submitting', 'submitted', 'generating', 'polling', 'keeping', 'settling'] as const
/** One of them. */
export type Point = (typeof points)[number]

/** A provider in this process, for servers in others: it counts, and halts a task where its prompt says so. */
export interface HaltingProvider {
  readonly url: string
  /** Submissions by prompt. Prompts are unique. */
  readonly submissions: ReadonlyMap<string, number>
  /** Prompts whose task has got to its point. */
  readonly halted: ReadonlySet<string>
  /** Halts nobody any more. Answers that were held back are never given: their askers are dead. */
  release(): void
  /** Halts again. */
  arm(): void
  close(): Promise<void>
}

/** A prompt that halts its task at this point. */
export const promptAt = (point: Point, n: string): string => `${point} ${n}`

/** Starts the provider on a free port of loopback. */
export async function haltingProvider(): Promise<HaltingProvider> {
  const submissions = new Map<string, number>()
  const promptOf = new Map<string, string>()
  const halted = new Set<string>()
  let halting = true

  /** Notes that a task is at its point; true when the answer must wait for ever. */
  const halts = (prompt: string, at: Point): boolean => {
    if (!halting || !prompt.startsWith(`${at} `)) return false
    halted.add(prompt)
    return true
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    const { attempt, prompt: given } = JSON.parse(text) as { attempt: string; prompt?: string }
    const send = (body: object): void => void response.end(JSON.stringify(body))
    const prompt = given ?? promptOf.get(attempt) ?? ''
    switch (request.url) {
      case '/submit':
        submissions.set(prompt, (submissions.get(prompt) ?? 0) + 1)
        promptOf.set(attempt, prompt)
        if (halts(prompt, 'submitting')) return
        send({ job: attempt })
        halts(prompt, 'submitted')
        return
      case '/find':
        return send({ found: promptOf.has(attempt) })
      case '/poll':
        if (halts(prompt, 'polling')) return
        if (halts(prompt, 'generating')) return send({ state: 'generating' })
        send({ state: 'made' })
        halts(prompt, 'settling')
        return
      default:
        if (halts(prompt, 'keeping')) return
        return send({ kept: true })
    }
  }

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    submissions,
    halted,
    release() {
      halting = false
      halted.clear()
    },
    arm() {
      halting = true
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
