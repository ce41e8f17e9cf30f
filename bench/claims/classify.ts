import { performance } from 'node:perf_hooks'
import { isDeepStrictEqual } from 'node:util'
import { BaseError } from 'viem'
import { getNodeError } from 'viem/utils'
import { classifySendError } from '../../src/index.js'
import { answerOf, meaningOf, type Said } from '../../src/rpc/corpus/corpus.fixture.js'
import { ALL } from '../../src/rpc/corpus/index.fixture.js'
import { PROVIDERS } from '../../src/rpc/corpus/providers.fixture.js'
import type { SendOutcome } from '../../src/rpc/outcome.js'
import { atLeast, medianOf } from '../check.js'
import type { Claim } from '../claim.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const STANDARD_CODE = -32_000
const RATE = 'messages classified'
const SHARE = 'of the messages told what they mean'

type Reading = { readonly code: number; readonly message: string; readonly data?: unknown }
type Reader = {
  readonly name: string
  /** The error as this library has it in hand. */
  shape(error: Reading): unknown
  read(shaped: never): unknown
  /** Whether what it read is what the message means. */
  isRight(said: Said, read: unknown): boolean
}
type Measured = { readonly perSecond: number; readonly share: number }

/** Words of nodes and providers that mean something; those that must stay `unknown` are no loss to anybody. */
const CORPUS: readonly (readonly [said: Said, error: Reading])[] = [
  ...ALL.flatMap(({ said, code }) =>
    Object.values(said)
      .flat()
      .map((one): Said => ({ code, ...one })),
  ),
  ...PROVIDERS.flatMap(({ said }) => said),
]
  .filter(({ outcome }) => outcome !== 'unknown')
  .map(
    (said) => [said, { code: said.code ?? STANDARD_CODE, message: said.message, data: said.data }] as const,
  )

const TXLANE: Reader = {
  name: 'txlane, classifySendError',
  shape: (error) => ({ kind: 'rpc', ...error }),
  read: classifySendError,
  isRight: (said, read) => isDeepStrictEqual(meaningOf(read as SendOutcome), answerOf(said)),
}

/** It has names for eleven reasons, and counts as right whenever it finds any. */
const VIEM: Reader = {
  name: 'viem, getNodeError',
  // It goes by what its own request errors keep of the node's words.
  shape: ({ message }) => new BaseError('the request failed', { details: message }),
  read: (error) => getNodeError(error, {}),
  isRight: (_, read) => (read as Error).name !== 'UnknownNodeError',
}

export const claim: Claim = {
  says: 'What a node says of a transaction is understood, whichever client it runs.',
  // Times through the corpus.
  transactions: 50,
  async run({ rounds, transactions: times, say }) {
    const { values, failures } = await takeTurns({
      subjects: [TXLANE, VIEM],
      rounds,
      run: async (reader) => measure(reader, times),
      show: ({ perSecond, share }) => `${Math.round(perSecond)} a second, ${(share * 100).toFixed(1)}% told`,
      say,
    })
    const of = (what: keyof Measured) =>
      [...values].map(([name, all]) => [name, all.map((one) => one[what])] as const)
    const figures = [
      ...figuresOf({ measure: SHARE, unit: 'share' }, of('share')),
      ...figuresOf({ measure: RATE, unit: 'a second, on one core' }, of('perSecond')),
    ]
    return {
      figures,
      checks: [atLeast('of the corpus classified as it is meant', medianOf(figures, SHARE, TXLANE.name), 1)],
      notes: [
        `${CORPUS.length} messages of clients and providers that have a meaning, ${times} times a round. txlane must name outcome and reason; viem counts as right with any name.`,
        ...failures,
      ],
    }
  },
}

function measure({ shape, read, isRight }: Reader, times: number): Measured {
  const shaped = CORPUS.map(([, error]) => shape(error) as never)
  const right = CORPUS.filter(([said], index) => isRight(said, read(shaped[index] as never))).length
  const begun = performance.now()
  for (let time = 0; time < times; time++) for (const error of shaped) read(error)
  const perSecond = (CORPUS.length * times * 1_000) / (performance.now() - begun)
  return { perSecond, share: right / CORPUS.length }
}
