import type { JsonObject, Usage } from '../../providers/provider.ts'

/** Counts what a provider did not: only for routes configured with `missing_usage: count` (decisions 5). */
export interface LocalCount {
  /** Takes the text of a frame of a stream, or of a whole answer. */
  see(answer: JsonObject): void
  /** Tokens of the prompt and of everything seen, by the o200k encoding that most current models are close to. */
  usage(): Promise<Usage>
}

/** Tokens that chat formats add to each message and to the start of the answer. */
const PER_MESSAGE = 3

/** A count over a call's prompt and the answer that is fed to it. The encoding is loaded at the first use: it is large. */
export function countLocally(body: JsonObject): LocalCount {
  let answer = ''
  return {
    see({ choices }) {
      if (!Array.isArray(choices)) return
      for (const choice of choices as Array<{ delta?: JsonObject; message?: JsonObject }>) {
        const said = choice.delta ?? choice.message
        if (typeof said?.content === 'string') answer += said.content
        if (typeof said?.reasoning_content === 'string') answer += said.reasoning_content
        if (said?.tool_calls) answer += JSON.stringify(said.tool_calls)
      }
    },
    async usage() {
      const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
      const messages = body.messages as readonly JsonObject[]
      const prompt = messages
        .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content ?? '')))
        .join('\n')
      const tools = body.tools === undefined ? '' : JSON.stringify(body.tools)
      return {
        inputTokens: countTokens(prompt + tools) + PER_MESSAGE * (messages.length + 1),
        outputTokens: countTokens(answer),
        cachedInputTokens: 0,
      }
    },
  }
}
