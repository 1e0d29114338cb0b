import { type Command, InvalidArgumentError } from 'commander'
import type { ChatBody, ChatUsage, Farebox } from '../../sdk/src/index.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { asUser } from './client.ts'
import { credits } from './form.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  isForPrograms,
  type OutputOptions,
  withOutput,
} from './surroundings.ts'

/** A model may think for long; what it made by then is charged. */
const CHAT_TIMEOUT_MS = 10 * 60_000
const TOKENS_MOST = 10_000_000

/** `farebox chat`. */
export const chatCommands: AddClientCommands = (program, here) => {
  const chat = program
    .command('chat [prompt...]')
    .description('ask a chat model; without a prompt, or with -, it is read from standard input')
    .option('--model <id>', 'the model; else the first chat model of the server')
    .option('--system <text>', 'what the model is told before the prompt')
    .option('--max-tokens <n>', 'the most tokens to answer with', parseTokens)
  withOutput(chat).action((words: string[], options: ChatCommandOptions, command: Command) =>
    ask(here, words, options, command),
  )
}

interface ChatCommandOptions extends OutputOptions {
  readonly model?: string
  readonly system?: string
  readonly maxTokens?: number
}

function parseTokens(text: string): number {
  const tokens = /^\d{1,8}$/.test(text) ? Number(text) : 0
  if (tokens < 1 || tokens > TOKENS_MOST)
    throw new InvalidArgumentError(`It takes a whole number from 1 to ${TOKENS_MOST}.`)
  return tokens
}

async function ask(
  here: ClientSurroundings,
  words: readonly string[],
  options: ChatCommandOptions,
  command: Command,
): Promise<void> {
  const prompt = await promptFrom(here, words, command)
  const connection = { timeoutMs: CHAT_TIMEOUT_MS }
  await asUser(
    here,
    'waiting for the answer',
    async ({ client }) => {
      const system = options.system === undefined ? [] : [{ role: 'system', content: options.system }]
      const body = {
        model: options.model ?? (await firstModel(client)),
        messages: [...system, { role: 'user', content: prompt }],
        ...(options.maxTokens === undefined ? {} : { max_tokens: options.maxTokens }),
      }
      const usage = isForPrograms(here, options) ? await whole(here, client, body) : await streamed(here, client, body)
      if (usage === undefined)
        here.writeError(
          'The provider did not say what was used: the Credits stay held until the operator decides. `farebox settlements` shows it.\n',
        )
    },
    connection,
  )
}

/** The words of the command line, or standard input. A program that would wait for a person says so instead. */
export async function promptFrom(
  here: ClientSurroundings,
  words: readonly string[],
  command: Command,
): Promise<string> {
  const fromInput = words.length === 0 || (words.length === 1 && words[0] === '-')
  if (fromInput && here.stdinIsTerminal && words.length === 0)
    throw new ProgramFault(
      exitCodes.usage,
      `Give a prompt: farebox ${command.name()} "a lighthouse", or one on standard input.`,
    )
  const prompt = (fromInput ? await here.readAll() : words.join(' ')).trim()
  if (prompt === '') throw new ProgramFault(exitCodes.usage, 'The prompt is empty: nothing was sent.')
  return prompt
}

/** As JSON, for programs. Gives what was used; undefined where nobody said so. */
async function whole(here: ClientSurroundings, client: Farebox, body: ChatBody): Promise<ChatUsage | undefined> {
  const answer = await client.chat(body)
  here.write(`${JSON.stringify(answer, undefined, 2)}\n`)
  return answer.usage
}

/** Piece by piece, for people. */
async function streamed(here: ClientSurroundings, client: Farebox, body: ChatBody): Promise<ChatUsage | undefined> {
  let usage: ChatUsage | undefined
  let said = false
  try {
    for await (const part of client.chatStream(body)) {
      usage = part.usage ?? usage
      if (part.text === '') continue
      said = true
      here.write(here.stdoutIsTerminal ? harmless(part.text) : part.text)
    }
  } finally {
    if (said) here.write('\n')
  }
  if (usage)
    here.writeError(
      `${body.model}: ${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out, ${credits(usage.cost_micro)} Credits\n`,
    )
  return usage
}

/** What a model says may hold control sequences: a terminal gets line breaks and tabs, and no others. */
const harmless = (text: string): string => text.replace(/(?![\n\t])\p{Cc}/gu, '')

async function firstModel(client: Farebox): Promise<string> {
  const { data } = await client.models()
  const model = data.find(({ enabled, modalities }) => enabled && modalities.includes('text'))
  if (!model)
    throw new ProgramFault(exitCodes.failed, 'This server has no chat model. `farebox models` lists what there is.')
  return model.id
}
