import { useQuery } from '@tanstack/react-query'
import { send } from '../api/transport.ts'
import type { Reply } from '../api/types.ts'

type Doors = Reply<'/v1/auth/oidc/providers', 'get'>

/** What the server says to everybody: how owners sign in, and where people turn for help. */
export const useDoors = () =>
  useQuery({
    queryKey: ['identity providers'],
    queryFn: ({ signal }) => send<Doors>('/v1/auth/oidc/providers', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** Where help is to be had, in a sentence. `about`: what a letter begins with, such as the ids that support asks for. */
export function SupportContact({ about }: { about: string }) {
  const contact = useDoors().data?.support_contact ?? ''
  if (contact === '') return <>Ask the operator of this server.</>
  const address = contact.startsWith('https://') ? contact : `mailto:${contact}?subject=${encodeURIComponent(about)}`
  return (
    <>
      Ask support: <a href={address}>{contact}</a>.
    </>
  )
}
