import { useEffect, useState } from 'react'
import type { Order } from './states.ts'

const SHOWN_FROM_SECONDS = 7.5 * 60
/** What is said aloud: the minutes, and nothing between them. */
const SAID_MINUTES = [10, 5, 1]

/** The time that is left, by the server's clock, and only when it is getting short. Not read aloud second by second. */
export function Countdown({ order }: { order: Pick<Order, 'expires_at' | 'server_time'> }) {
  const [now, setNow] = useState(() => performance.now())
  // each answer says anew how much is left, and counting goes on from there
  const [answer, setAnswer] = useState({ serverTime: order.server_time, at: now })
  if (answer.serverTime !== order.server_time) setAnswer({ serverTime: order.server_time, at: performance.now() })
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const atAnswer = (Date.parse(order.expires_at) - Date.parse(order.server_time)) / 1000
  const left = Math.max(0, Math.floor(atAnswer - Math.max(0, now - answer.at) / 1000))
  const said = SAID_MINUTES.findLast((minutes) => left <= minutes * 60)
  return (
    <>
      <span className="visually-hidden" role="status">
        {said === undefined ? '' : `Less than ${said === 1 ? 'a minute' : `${said} minutes`} left`}
      </span>
      {left > SHOWN_FROM_SECONDS ? null : (
        <p className="small quiet">
          This price is kept for {Math.floor(left / 60)}:{String(left % 60).padStart(2, '0')} more. It can be extended.
        </p>
      )}
    </>
  )
}
