import { Type } from 'typebox'
import type { Config } from '../../config/config.ts'
import { Closed, Integer, integer } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { administration, byOf, ReasonBody } from '../schema.ts'
import { type ReloadDeps, reloadServers, type ServerOutcome } from './reload.ts'
import { capabilityPriceRows, chatPriceRows, mediaPriceRows } from './rows.ts'
import { PriceList, priceViews } from './schema.ts'

/** What the endpoints of prices need. Only the running server knows what is in force. */
export interface PricesDeps extends Omit<ReloadDeps, 'clock'> {
  readonly clock: Clock
  readonly config: () => Pick<Config, 'models' | 'mediaModels' | 'capabilities'>
  /** Why the file was refused when it was last read, and versions that are blocked. */
  readonly standing: () => { readonly refused: string | undefined; readonly drifted: readonly string[] }
  /** What reading the file now would change. */
  readonly preview: () => { readonly outcome: 'applied' | 'unchanged' | 'refused'; readonly lines: readonly string[] }
}

const Lines = Type.Array(Type.String(), { description: 'For people: what changes, or what is wrong, a line for each' })
/** As many problems of a file are named in a refusal. */
const PROBLEMS_NAMED_MAX = 10

/** What is sold for how much, and the reading of the file that says so. */
export function priceAdministrationRoutes(deps: PricesDeps): Route[] {
  return [listRoute(deps), previewRoute(deps), reloadRoute(deps)]
}

const listRoute = ({ clock, config, file, standing }: PricesDeps): Route =>
  route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/prices',
    summary: 'Every price version of models and capabilities, past, in force and to come, with its margin.',
    replies: { 200: Closed({ data: PriceList, request_id: Type.String() }) },
    refuses: [],
    handle: ({ requestId }) => {
      const now = clock.now()
      const { models, mediaModels, capabilities } = config()
      const { refused, drifted } = standing()
      return {
        data: {
          as_of: now.toISOString(),
          file,
          refused: refused ?? null,
          drifted: [...drifted],
          ...priceViews({
            chat: chatPriceRows(models, now),
            media: mediaPriceRows(mediaModels, now),
            capabilities: capabilityPriceRows(capabilities),
          }),
        },
        request_id: requestId,
      }
    },
  })

const previewRoute = ({ preview }: PricesDeps): Route =>
  route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/prices/preview',
    summary: 'What reading the configuration file now would change. Nothing is taken over.',
    replies: {
      200: Closed({
        data: Closed({ outcome: Type.Enum(['would_apply', 'unchanged', 'refused']), lines: Lines }),
        request_id: Type.String(),
      }),
    },
    refuses: [],
    handle: ({ requestId }) => {
      const { outcome, lines } = preview()
      return {
        data: { outcome: outcome === 'applied' ? ('would_apply' as const) : outcome, lines: [...lines] },
        request_id: requestId,
      }
    },
  })

const reloadRoute = (deps: PricesDeps): Route =>
  route({
    ...administration,
    method: 'POST',
    path: '/v1/admin/prices/reload',
    summary: 'Have the servers of this host read models, prices and capabilities of the file again.',
    description: 'A file that cannot be used changes nothing. Servers on other hosts are not asked, and named.',
    body: ReasonBody,
    replies: {
      200: Closed({
        data: Type.Array(
          Closed({
            process_id: Integer(),
            host: Type.String(),
            pid: Integer(),
            outcome: Type.Enum(['applied', 'unchanged', 'silent', 'elsewhere', 'refused'], {
              description: '`silent`: it did not answer in time; `elsewhere`: it was not asked',
            }),
            lines: Lines,
          }),
        ),
        request_id: Type.String(),
      }),
    },
    refuses: ['configuration_refused'],
    handle: async (call) => {
      const outcomes = await reloadServers(deps, byOf(call))
      const refusing = outcomes.find(({ outcome }) => outcome === 'refused')
      if (refusing) throw new Fault('configuration_refused', { message: refusal(refusing) })
      return {
        data: outcomes.map(({ process_id, lines, ...server }) => ({
          ...server,
          process_id: integer(process_id),
          lines: [...lines],
        })),
        request_id: call.requestId,
      }
    },
  })

function refusal({ lines }: ServerOutcome): string {
  const more = lines.length - PROBLEMS_NAMED_MAX
  return [
    'The file was refused, so the settings of before stay in force:',
    ...lines.slice(0, PROBLEMS_NAMED_MAX),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('\n')
}
