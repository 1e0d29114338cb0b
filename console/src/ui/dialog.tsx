import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as BaseDialog } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'

/** A dialog; focus goes in and comes back. `modalOnly`: it closes by its own buttons and by nothing else. */
export function Dialog({
  open,
  onOpenChange,
  title,
  modalOnly = false,
  children,
}: {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: string
  modalOnly?: boolean
  children: ReactNode
}) {
  const Parts = modalOnly ? AlertDialog : BaseDialog
  return (
    <Parts.Root open={open} onOpenChange={(next) => onOpenChange(next)}>
      <Parts.Portal>
        <Parts.Backdrop className="dialog-backdrop" />
        <Parts.Popup className="dialog">
          <Parts.Title>{title}</Parts.Title>
          {children}
        </Parts.Popup>
      </Parts.Portal>
    </Parts.Root>
  )
}
