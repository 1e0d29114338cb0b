import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import type { Reply } from '../../../api/types.ts'
import { Button, Card, Notice, PageHead, Time } from '../../../ui/parts.tsx'
import { Answer } from '../../../ui/query.tsx'
import { AdminsOnly } from '../admins-only.tsx'
import { ReasonDialog, Said } from '../reason-dialog.tsx'
import { CapabilityPrices, ChatPrices, MediaPrices } from './price-tables.tsx'
import '../operator.css'
import './money.css'

type Preview = Reply<'/v1/admin/prices/preview', 'get'>['data']
type Reloaded = Reply<'/v1/admin/prices/reload', 'post'>['data']

const PATHS = ['/v1/admin/prices', '/v1/admin/overview', '/v1/admin/audit-log']

/** What is sold for how much, and what the file would change of it. */
export const OperatorPrices = () => (
  <AdminsOnly>
    <Read />
  </AdminsOnly>
)

function Read() {
  const prices = useQuery({
    queryKey: ['/v1/admin/prices'],
    queryFn: ({ signal }) => api<Reply<'/v1/admin/prices', 'get'>>('/v1/admin/prices', { signal }),
  })
  return (
    <>
      <PageHead title="Prices">
        Every version of every price: what is in force, what is to come, and what is left after the provider.
      </PageHead>
      <File />
      <Answer query={prices} lines={12}>
        {({ data }) => (
          <>
            <Trouble refused={data.refused} drifted={data.drifted} />
            <ChatPrices rows={data.chat} />
            <MediaPrices rows={data.media} />
            <CapabilityPrices rows={data.capabilities} />
            <p className="quiet small">
              As of <Time at={data.as_of} />, from {data.file}.
            </p>
          </>
        )}
      </Answer>
    </>
  )
}

function Trouble({ refused, drifted }: { refused: string | null; drifted: readonly string[] }) {
  return (
    <>
      {refused === null ? null : (
        <Notice tone="bad" title="The file was refused">
          <p>It was {refused}.</p>
        </Notice>
      )}
      {drifted.length === 0 ? null : (
        <Notice tone="bad" title="Calls of these are refused">
          <p>They differ from what was frozen under their version: {drifted.join(', ')}.</p>
        </Notice>
      )}
    </>
  )
}

/** The file as it is on disk, against what is in force. */
function File() {
  const [asking, setAsking] = useState(false)
  const [said, setSaid] = useState('')
  const preview = useQuery({
    queryKey: ['/v1/admin/prices', 'preview'],
    queryFn: ({ signal }) => api<Reply<'/v1/admin/prices/preview', 'get'>>('/v1/admin/prices/preview', { signal }),
  })
  return (
    <Card
      title="The configuration file"
      actions={
        <Button small busy={preview.isFetching} onClick={() => void preview.refetch()}>
          Look again
        </Button>
      }
    >
      <Said text={said} />
      <Answer query={preview} lines={2}>
        {({ data }) => (
          <>
            <Difference preview={data} />
            {data.outcome === 'would_apply' ? (
              <div>
                <Button
                  kind="primary"
                  onClick={() => {
                    setSaid('')
                    setAsking(true)
                  }}
                >
                  Put it in force
                </Button>
              </div>
            ) : null}
          </>
        )}
      </Answer>
      {asking ? (
        <ReasonDialog
          deed={{
            title: 'Put the file in force',
            means:
              'The servers of this host read models, prices and capabilities again. Calls that run are charged at the price that they began with; from then on the new one counts for everybody.',
            verb: 'Put it in force',
            path: '/v1/admin/prices/reload',
            done: (answer) => saidOf((answer as { data: Reloaded }).data),
          }}
          refresh={PATHS}
          onClose={() => setAsking(false)}
          onDone={setSaid}
        />
      ) : null}
    </Card>
  )
}

function Difference({ preview: { outcome, lines } }: { preview: Preview }) {
  if (outcome === 'unchanged') return <p className="quiet">The file says what is in force.</p>
  return (
    <>
      <p>
        {outcome === 'refused'
          ? 'The file cannot be used: correct it first. What is in force stays.'
          : 'The file differs from what is in force. Nothing of this counts until it is put in force:'}
      </p>
      <ul className="diff small">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </>
  )
}

function saidOf(servers: Reloaded): string {
  const words = {
    applied: 'took it over',
    unchanged: 'had it already',
    silent: 'did not answer',
    elsewhere: 'was not asked: run farebox prices reload on its host',
    refused: 'refused it',
  }
  return servers.map(({ host, pid, outcome }) => `Server ${host}:${pid} ${words[outcome]}.`).join(' ')
}
