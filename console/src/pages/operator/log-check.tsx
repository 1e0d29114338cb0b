import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Reply } from '../../api/types.ts'
import { count } from '../../ui/format.ts'
import { Button, Card, Copyable, ErrorCard, Notice } from '../../ui/parts.tsx'

type Part = Reply<'/v1/admin/audit-log/verify', 'get'>

/** Checks the whole log, part after part, and says what its head is. */
export function LogCheck() {
  const [rows, setRows] = useState(0)
  const check = useMutation({
    mutationFn: async () => {
      setRows(0)
      let checked = 0
      for (let after = 0; ; ) {
        const part = await api<Part>(`/v1/admin/audit-log/verify?after_id=${after}`)
        checked += part.rows
        setRows(checked)
        if (part.next_after_id === 0) return { ...part, rows: checked }
        after = part.next_after_id
      }
    },
  })
  return (
    <Card
      title="Is it as it was written?"
      actions={
        <Button small busy={check.isPending} onClick={() => check.mutate()}>
          Check the whole log
        </Button>
      }
    >
      <div role="status" className="stack-tight">
        {check.isPending ? <p className="quiet">{count(rows)} entries checked so far</p> : null}
        {check.error ? <ErrorCard error={check.error} retry={() => check.mutate()} /> : null}
        {check.data && !check.isPending ? <Result found={check.data} /> : null}
        {check.isIdle ? (
          <p className="quiet">
            Every entry is checked against the one before it, as <code>farebox audit-log verify</code> does.
          </p>
        ) : null}
      </div>
    </Card>
  )
}

function Result({ found: { broken, head, rows } }: { found: Part }) {
  if (broken)
    return (
      <Notice tone="bad" title="The log is not as it was written">
        <p>
          Entries 1 to {count(head.id)} are right. At {count(broken.id)}: {broken.problem}. Keep the database as it is
          and compare it with a backup.
        </p>
      </Notice>
    )
  return (
    <Notice tone="good" title={`The log is whole: ${count(rows)} ${rows === 1 ? 'entry' : 'entries'}`}>
      <p>
        Note its head outside this database: <Copyable text={`${head.id}:${head.hash}`} what="head" />. With it,{' '}
        <code>farebox audit-log verify --head</code> proves later that nothing up to it was rewritten.
      </p>
    </Notice>
  )
}
