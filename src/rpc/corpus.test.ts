import { describe, expect, it } from 'vitest'
import { classifySendError } from './classify.js'
import { answerOf, meaningOf, NODE_REASONS, type Said } from './corpus/corpus.fixture.js'
import { ALL, CLIENTS } from './corpus/index.fixture.js'
import { PROVIDERS } from './corpus/providers.fixture.js'
import { MESSAGES } from './messages.js'

const saidBy = ({ said }: { said: Readonly<Record<string, readonly Said[]>> }) => Object.values(said).flat()

/** The form in which a port gives it to the classifier: code, message and data of the JSON-RPC error. */
const rpc = ({ message, code, data }: Said, standard = -32_000) => ({
  kind: 'rpc',
  code: code ?? standard,
  message,
  data,
})

describe('the messages of each client', () => {
  for (const corpus of ALL) {
    it(`${corpus.client}: each message has the expected meaning`, () => {
      for (const said of saidBy(corpus)) {
        const { message } = said
        expect({ message, ...meaningOf(classifySendError(rpc(said, corpus.code))) }).toEqual({
          message,
          ...answerOf(said),
        })
      }
    })
  }

  for (const corpus of PROVIDERS) {
    it(`${corpus.provider}: each message has the expected meaning`, () => {
      for (const said of corpus.said) {
        const { message } = said
        expect({ message, ...meaningOf(classifySendError(rpc(said))) }).toEqual({
          message,
          ...answerOf(said),
        })
      }
    })
  }

  for (const corpus of CLIENTS) {
    it(`${corpus.client}: the corpus has a message for each reason, or states why not`, () => {
      const reasons = new Set(saidBy(corpus).map(({ reason }) => reason))
      for (const reason of NODE_REASONS) {
        const silent = corpus.silent[reason] !== undefined
        expect({ reason, result: reasons.has(reason) !== silent }).toEqual({ reason, result: true })
      }
    })
  }
})

describe('the table of messages', () => {
  it('has a source for each row', () => {
    const texts = [...ALL.flatMap(saidBy), ...PROVIDERS.flatMap(({ said }) => said)].map(({ message }) =>
      message.toLowerCase(),
    )
    const unsaid = MESSAGES.flatMap(({ rows }) => rows).filter(
      (row) => !texts.some((text) => holds(text, row.split('…'))),
    )
    expect(unsaid).toEqual([])
  })
})

function holds(text: string, parts: readonly string[]): boolean {
  let from = 0
  for (const part of parts) {
    const at = text.indexOf(part.trim(), from)
    if (at === -1) return false
    from = at + part.trim().length
  }
  return true
}
