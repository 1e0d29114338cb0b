import type { Deed } from '../reason-dialog.tsx'
import type { FullAccount } from './account.tsx'

/** What may be done to an account as it is now. `locksOut`: an admin cannot do it to the own account. */
export function deeds({ account, keys, sessions }: FullAccount): Array<Deed & { readonly locksOut: boolean }> {
  const name = `account ${account.id}`
  const path = `/v1/admin/accounts/${account.id}`
  const alive = keys.filter((key) => key.status === 'active').length
  return [
    ...statusDeeds(account.status, name, path),
    ...roleDeeds(account, name, path),
    ...(sessions.open === 0
      ? []
      : [
          {
            title: `Sign ${name} out everywhere`,
            means: `Its ${counted(sessions.open, 'session ends', 'sessions end')} now, and it has to sign in again. API keys go on.`,
            verb: 'Sign out everywhere',
            danger: true,
            path: `${path}/sessions/revoke-all`,
            done: `Every session of ${name} is ended.`,
            locksOut: false,
          },
        ]),
    ...(alive === 0
      ? []
      : [
          {
            title: `Revoke all keys of ${name}`,
            means: `Every program with one of its ${counted(alive, 'key is', 'keys is')} refused from that moment on. This cannot be undone. Calls that run are finished and billed; sessions stay.`,
            verb: 'Revoke all keys',
            danger: true,
            path: `${path}/api-keys/revoke-all`,
            done: `Every key of ${name} is revoked.`,
            locksOut: false,
          },
        ]),
  ]
}

/** Taking one key away. */
export function keyDeed(accountId: number, key: FullAccount['keys'][number]): Deed {
  return {
    title: 'Revoke this key',
    means: `Every program with the key ${key.name ? `“${key.name}”, ` : ''}${key.prefix}…${key.last4}, is refused from that moment on. This cannot be undone. Calls that run are finished and billed.`,
    verb: 'Revoke this key',
    danger: true,
    path: `/v1/admin/accounts/${accountId}/api-keys/${key.id}/revoke`,
    done: `The key ${key.prefix}…${key.last4} is revoked.`,
  }
}

function statusDeeds(status: FullAccount['account']['status'], name: string, path: string) {
  const ban = {
    title: `Ban ${name}`,
    means:
      'Everything that the account asks for is refused from now on, sign-in too. Calls that run are finished and billed; its Credits stay. Only an admin lifts a ban.',
    verb: 'Ban',
    danger: true,
    path: `${path}/ban`,
    done: `Account ${name.slice(8)} is banned.`,
    locksOut: true,
  }
  const others = {
    active: {
      title: `Deactivate ${name}`,
      means: 'The account is closed: what it asks for is refused. Its Credits stay, and it can be reactivated.',
      verb: 'Deactivate',
      danger: true,
      path: `${path}/deactivate`,
      done: `Account ${name.slice(8)} is deactivated.`,
      locksOut: true,
    },
    deactivated: {
      title: `Reactivate ${name}`,
      means: 'The account works again as before, with its Credits, keys and sessions.',
      verb: 'Reactivate',
      path: `${path}/reactivate`,
      done: `Account ${name.slice(8)} is active again.`,
      locksOut: true,
    },
    banned: {
      title: `Lift the ban of ${name}`,
      means: 'The account works again as before, with its Credits, keys and sessions.',
      verb: 'Lift the ban',
      path: `${path}/unban`,
      done: `Account ${name.slice(8)} is active again.`,
      locksOut: true,
    },
  }
  return status === 'banned' ? [others.banned] : [others[status], ban]
}

function roleDeeds(account: FullAccount['account'], name: string, path: string) {
  if (account.account_type === 'agent') return []
  const becomes = account.role === 'admin' ? 'user' : 'admin'
  return [
    becomes === 'admin'
      ? {
          title: `Make ${name} an admin`,
          means:
            'It may do everything on these pages: read every account, give Credits, ban, decide on refunds, and make others admins.',
          verb: 'Make admin',
          danger: true,
          path: `${path}/role`,
          body: { role: becomes },
          done: `Account ${account.id} is an admin now.`,
          locksOut: true,
        }
      : {
          title: `Make ${name} an ordinary user`,
          means: 'These pages and their endpoints are refused to it from now on. Its own account stays as it is.',
          verb: 'Make an ordinary user',
          danger: true,
          path: `${path}/role`,
          body: { role: becomes },
          done: `Account ${account.id} is an ordinary user now.`,
          locksOut: true,
        },
  ]
}

const counted = (n: number, one: string, many: string): string => (n === 1 ? one : `${n} ${many}`)
