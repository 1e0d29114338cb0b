import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import type { Farebox, Task } from '../../sdk/src/index.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { promptFrom } from './chat.ts'
import { asUser } from './client.ts'
import { confirmed } from './confirmation.ts'
import { creditsOrDash } from './form.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

const DOWNLOAD_MS = 5 * 60_000

/** `farebox image`. */
export const imageCommands: AddClientCommands = (program, here) => {
  const image = program
    .command('image [prompt...]')
    .description('make a picture and save it; without a prompt, or with -, it is read from standard input')
    .option('--model <id>', 'the model; else the first image model of the server')
    .option('--out <file>', 'where to save it; else the id of the task, in this folder')
    .option('--size <size>', 'such as 1024x1024, where the model takes it')
    .option('--aspect-ratio <ratio>', 'such as 16:9, where the model takes it')
    .option('--quality <quality>', 'such as high, where the model takes it')
    .option('--task <id>', 'save the picture of a task that was begun before, instead of making one')
    .option('--yes', 'write over a file that is there')
  withOutput(image).action((words: string[], options: ImageOptions, command: Command) =>
    make(here, words, options, command),
  )
}

interface ImageOptions extends OutputOptions {
  readonly model?: string
  readonly out?: string
  readonly size?: string
  readonly aspectRatio?: string
  readonly quality?: string
  readonly task?: string
  readonly yes?: boolean
}

async function make(
  here: ClientSurroundings,
  words: readonly string[],
  options: ImageOptions,
  command: Command,
): Promise<void> {
  const prompt = options.task === undefined ? await promptFrom(here, words, command) : ''
  if (options.out !== undefined && existsSync(options.out))
    await confirmed(here, options, `${options.out} is there already. Write over it?`)
  await asUser(here, 'making the picture', async ({ client }) => {
    const taskId = options.task ?? (await begun(client, prompt, options))
    if (options.task === undefined) here.writeError(`task ${taskId}\n`)
    const task = await ended(here, client, taskId)
    const result = task.result as { readonly data?: ReadonlyArray<{ url: string; content_type?: string }> } | null
    const first = result?.data?.[0]
    if (task.state !== 'success' || !first) throw failed(task)
    const path = options.out ?? `${taskId}.${extensionOf(first.content_type)}`
    if (options.out === undefined && existsSync(path))
      await confirmed(here, options, `${path} is there already. Write over it?`)
    await saved(first.url, path, taskId)
    const charged = task.billing?.actual_amount_micro
    show(here, options, {
      data: { task_id: taskId, file: path, model: task.model, charged_micro: charged ?? null },
      text: `Saved ${path}. ${creditsOrDash(charged)} Credits charged.`,
    })
  })
}

async function begun(client: Farebox, prompt: string, options: ImageOptions): Promise<string> {
  const { size, aspectRatio, quality } = options
  const task = await client.tasks.image({
    model: options.model ?? (await firstModel(client)),
    prompt,
    ...(size === undefined ? {} : { size }),
    ...(aspectRatio === undefined ? {} : { aspect_ratio: aspectRatio }),
    ...(quality === undefined ? {} : { quality }),
  })
  return task.task_id
}

/** Follows the task; each new state is said on stderr. */
function ended(here: ClientSurroundings, client: Farebox, taskId: string): Promise<Task> {
  let last = ''
  return client.tasks.wait(taskId, {
    onProgress({ state, progress }) {
      const now = state === 'generating' && progress ? `${state} ${progress} %` : state
      if (now !== last) here.writeError(`${now}\n`)
      last = now
    },
  })
}

function failed(task: Task): ProgramFault {
  const { code = '', message = '' } = task.error ?? {}
  const unknown = task.billing?.status === 'usage_unknown'
  const money = unknown
    ? 'What it cost is not known yet: the Credits stay held until the operator decides.'
    : `${creditsOrDash(task.billing?.actual_amount_micro ?? 0)} Credits were charged.`
  const what =
    task.state === 'canceled'
      ? 'The task was canceled.'
      : `The picture was not made: ${message || 'no reason was given'}`
  return new ProgramFault(
    unknown ? exitCodes.review : exitCodes.failed,
    `${what}\n${money}\n(${code || task.state}, task ${task.task_id}, request ${task.request_id})`,
  )
}

async function saved(url: string, path: string, taskId: string): Promise<void> {
  const part = `${path}.part`
  try {
    // the link is signed: it needs no login, and must not get one
    const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_MS) })
    if (!response.ok || !response.body) throw new Error(`status ${response.status}`)
    await pipeline(Readable.fromWeb(response.body), createWriteStream(part))
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw new ProgramFault(
      exitCodes.failed,
      `The picture was made and charged, but could not be saved to ${path} (${reasonOf(error)}). Run \`farebox image --task ${taskId} --out <file>\`: that costs nothing.`,
      { cause: error },
    )
  }
}

const reasonOf = (error: unknown): string => String((error as { code?: unknown }).code ?? (error as Error).message)

const extensionOf = (contentType = ''): string => /^image\/(png|jpeg|webp|gif|avif)/.exec(contentType)?.[1] ?? 'image'

async function firstModel(client: Farebox): Promise<string> {
  const { data } = await client.models()
  const model = data.find(({ enabled, modalities }) => enabled && modalities.includes('image'))
  if (!model)
    throw new ProgramFault(exitCodes.failed, 'This server makes no pictures. `farebox models` lists what there is.')
  return model.id
}
