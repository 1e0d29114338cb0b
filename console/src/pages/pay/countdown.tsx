import { useEffect, useState } from 'react'
import type { Order } from './states.ts'

const SHOWN_FROM_SECONDS = 7.5 * 60

/** The time that is left, by the server's clock, and only when it is getting short. Not read aloud second by second. */
export function Countdown({ order }: { order: Pick<Order, 'expires_at' | 'server_time'> }) {
  const [start] = useState(() => performance.now())
  const [now, setNow] = useState(start)
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const atAnswer = (Date.parse(order.expires_at) - Date.parse(order.server_time)) / 1000
  const left = Math.max(0, Math.floor(atAnswer - (now - start) / 1000))
  if (left > SHOWN_FROM_SECONDS) return null
  return (
    <p className="small quiet">
      This price is kept for {Math.floor(left / 60)}:{String(left % 60).padStart(2, '0')} more. It can be extended.
    </p>
  )
}
