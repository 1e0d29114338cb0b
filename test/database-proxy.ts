import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** The line between a server and its database. */
export interface DatabaseLine {
  /** Breaks every connection and takes no new one. */
  cut(): void
  restore(): void
}

/** A TCP door to the test database's socket that can be shut. */
export async function databaseProxy(url: string): Promise<DatabaseLine & { url: string; close(): Promise<void> }> {
  const target = new URL(url)
  const folder = target.searchParams.get('host') ?? ''
  const sockets = new Set<Socket>()
  let open = true
  const server = createServer((outer) => {
    outer.on('error', () => undefined)
    if (!open) return void outer.destroy()
    const inner = connect(`${folder}/.s.PGSQL.5432`)
    for (const [one, other] of [
      [outer, inner],
      [inner, outer],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxied = new URL(url)
  proxied.searchParams.delete('host')
  proxied.hostname = '127.0.0.1'
  proxied.port = String((server.address() as AddressInfo).port)
  return {
    url: proxied.href,
    cut() {
      open = false
      for (const socket of sockets) socket.destroy()
    },
    restore() {
      open = true
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
