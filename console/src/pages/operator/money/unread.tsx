import { Card, Notice } from '../../../ui/parts.tsx'

/** A part that the server could not read. */
export function Unread({ title }: { title: string }) {
  return (
    <Card title={title}>
      <Notice tone="warn" title="This part could not be read">
        <p>The others are as they say. The server's log has the reason.</p>
      </Notice>
    </Card>
  )
}
