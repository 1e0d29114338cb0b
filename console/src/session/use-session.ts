import { useSyncExternalStore } from 'react'
import { type SessionState, session } from './session.ts'

/** The session, live. */
export const useSession = (): SessionState => useSyncExternalStore(session.subscribe, () => session.state)
