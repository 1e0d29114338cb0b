import { rm } from 'node:fs/promises'
import { createConnection, createServer, type Socket } from 'node:net'

/** Bytes that begin a message of PostgreSQL's protocol that says that a statement was committed: CommandComplete. */
const COMMAND_COMPLETE = 'C'.charCodeAt(0)

/** What the next connections, and those that are open, meet. */
export type Weather =
  | { readonly kind: 'clear' }
  /** Cut once the client has sent so many more bytes. */
  | { readonly kind: 'cut after sending'; bytes: number }
  /** The statement reaches the server and is committed there; the reply is swallowed and the line is cut. */
  | { readonly kind: 'cut before the reply' }
  /** Everything is swallowed both ways, and nothing is ever closed. */
  | { readonly kind: 'black hole' }
  /** No connection is accepted for longer than it takes to close it. */
  | { readonly kind: 'down' }

/** A line between a client and PostgreSQL's socket that breaks on demand. */
export interface Proxy {
  readonly folder: string
  weather: Weather
  /** How often it cut a line since it began. */
  readonly cuts: number
  close(): Promise<void>
}

/** Listens on a socket in `folder`, where a PostgreSQL client looks for it, and passes everything on to `target`. */
export async function openProxy(options: { folder: string; target: string }): Promise<Proxy> {
  const path = `${options.folder}/.s.PGSQL.5432`
  const sockets = new Set<Socket>()
  let cuts = 0
  let weather: Weather = { kind: 'clear' }

  const server = createServer((client) => {
    if (weather.kind === 'down') return void client.destroy()
    const upstream = createConnection(`${options.target}/.s.PGSQL.5432`)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        if (weather.kind !== 'black hole') other.destroy()
      })
    }
    const cut = (): void => {
      cuts += 1
      weather = { kind: 'clear' }
      client.destroy()
      upstream.destroy()
    }
    client.on('data', (data: Buffer) => {
      if (weather.kind === 'black hole') return
      if (weather.kind !== 'cut after sending') return void upstream.write(data)
      upstream.write(data.subarray(0, weather.bytes))
      weather = { ...weather, bytes: weather.bytes - data.length }
      if (weather.bytes <= 0) upstream.end(cut)
    })
    upstream.on('data', (data: Buffer) => {
      if (weather.kind === 'black hole') return
      // a reply to a statement begins with its description or its rows; the last of its messages proves the commit
      if (weather.kind !== 'cut before the reply') return void client.write(data)
      if (hasCommandComplete(data)) cut()
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return {
    folder: options.folder,
    get weather() {
      return weather
    },
    set weather(next) {
      weather = next
      if (next.kind === 'down') for (const socket of sockets) socket.destroy()
    },
    get cuts() {
      return cuts
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await rm(path, { force: true })
    },
  }
}

/** True when whole messages of this chunk include the end of a statement. */
function hasCommandComplete(data: Buffer): boolean {
  for (let at = 0; at + 5 <= data.length; at += 1 + data.readInt32BE(at + 1))
    if (data[at] === COMMAND_COMPLETE) return true
  return false
}
