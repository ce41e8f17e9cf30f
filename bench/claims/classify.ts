import { performance } from 'node:perf_hooks'
import { isDeepStrictEqual } from 'node:util'
import { BaseError } from 'viem'
import { getNodeError } from 'viem/utils'
import { classifySendError } from '../../src/index.js'
import { answerOf, meaningOf, type Said } from '../../src/rpc/corpus/corpus.fixture.js'
import { ALL } from '../../src/rpc/corpus/index.fixture.js'
import { PROVIDERS } from '../../src/rpc/corpus/providers.fixture.js'
import type { SendOutcome } from '../../src/rpc/outcome.js'
import { atLeast, type Claim, medianOf } from '../claim.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const STANDARD_CODE = -32_000
const RATE = 'messages classified'
const SHARE = 'of the messages classified correctly'

type Reading = { readonly code: number; readonly message: string; readonly data?: unknown }
type Reader = {
  readonly name: string
  /** The error in the form in which this library receives it. */
  shape(error: Reading): unknown
  read(shaped: never): unknown
  /** Whether the reading matches the meaning of the message. */
  isRight(said: Said, read: unknown): boolean
}
type Measured = { readonly perSecond: number; readonly share: number }

/** Messages of nodes and providers with a known meaning. Messages that must stay `unknown` are left out. */
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

/** getNodeError has names for eleven reasons; any name counts as correct. */
const VIEM: Reader = {
  name: 'viem, getNodeError',
  // getNodeError matches the `details` of viem's own request errors.
  shape: ({ message }) => new BaseError('the request failed', { details: message }),
  read: (error) => getNodeError(error, {}),
  isRight: (_, read) => (read as Error).name !== 'UnknownNodeError',
}

export const claim: Claim = {
  says: "A node's answer to a transaction is classified correctly, for every client.",
  // Repetitions of the corpus.
  transactions: 50,
  async run({ rounds, transactions: times, say }) {
    const { values, failures } = await takeTurns({
      subjects: [TXLANE, VIEM],
      rounds,
      run: async (reader) => measure(reader, times),
      show: ({ perSecond, share }) =>
        `${Math.round(perSecond)} a second, ${(share * 100).toFixed(1)}% classified`,
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
      checks: [atLeast('of the corpus classified correctly', medianOf(figures, SHARE, TXLANE.name), 1)],
      notes: [
        `${CORPUS.length} messages of clients and providers with a known meaning, ${times} times per round. txlane must name outcome and reason; viem counts as right with any name.`,
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
