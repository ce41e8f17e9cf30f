import { checkNames, type Names } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { backgroundClock, type Clock, type Random, systemClock, systemRandom } from '../platform/clock.js'
import type { Logger } from '../types/index.js'
import type { OutboxVerbs } from '../types/outbox.js'
import type { Store } from '../types/store.js'
import { checkLogger, checkVerbs, MS_MAX, object, oneOf, whole } from '../validate/validate.js'
import type { DeliveryHandler, OutboxOptions, OutboxStage } from './types.js'

/** The options with their defaults filled in. */
export type OutboxSettings = {
  readonly store: Store
  readonly name: string
  readonly onStage: DeliveryHandler
  readonly wanted: ReadonlySet<OutboxStage>
  readonly from: 'now' | 'oldest'
  readonly chainId: number | undefined
  readonly receipts: OutboxOptions['receipts']
  readonly concurrency: number
  readonly timeoutMs: number
  readonly retryMinMs: number
  readonly retryMaxMs: number
  readonly triesMax: number
  readonly logger: Logger | false | undefined
}

const STAGES: readonly OutboxStage[] = ['sealed', 'settled', 'finalized', 'failed', 'cancelled', 'superseded']
const DELIVERED_BY_DEFAULT = STAGES.filter((stage) => stage !== 'settled')
const NAME_CHARS_MAX = 100
const CONCURRENCY_MAX = 1_000
const RETRY_MAX_MS = 300_000

const NAMES = {
  store: true,
  name: true,
  onStage: true,
  stages: true,
  from: true,
  chainId: true,
  receipts: true,
  concurrency: true,
  timeoutMs: true,
  retryMinMs: true,
  retryMaxMs: true,
  triesMax: true,
  logger: true,
} satisfies Names<OutboxOptions>

const STORE_VERBS = {
  takeOutbox: true,
  releaseOutbox: true,
  writeOutbox: true,
  readOutbox: true,
  deliveries: true,
  changes: true,
  find: true,
  watch: true,
} satisfies Partial<Record<keyof Store, true>> & Record<keyof OutboxVerbs, true>

/** @throws TxlaneError `INVALID`, which names the option and its value */
export function settingsOf(options: OutboxOptions): OutboxSettings {
  checkNames('options', object('options', options), NAMES)
  const { store, name, onStage, stages, from, chainId, receipts, logger } = options
  checkVerbs(store, STORE_VERBS)
  if (typeof name !== 'string' || name.length < 1 || name.length > NAME_CHARS_MAX || name.includes('\0'))
    throw invalid('name', name, `1 to ${NAME_CHARS_MAX} characters`)
  if (typeof onStage !== 'function') throw invalid('onStage', onStage, 'a function')
  oneOf('from', from, ['now', 'oldest'])
  whole('chainId', chainId, 1, Number.MAX_SAFE_INTEGER)
  const isSource =
    typeof receipts === 'function' || typeof object('receipts', receipts ?? {}).get === 'function'
  if (receipts !== undefined && !isSource)
    throw invalid('receipts', receipts, 'a sender, a pool, or a function that gives one')
  checkLogger(logger)
  return {
    store,
    name,
    onStage,
    wanted: wantedOf(stages),
    from: from ?? 'now',
    chainId,
    receipts,
    logger,
    ...bounds(options),
  }
}

function wantedOf(stages: unknown): ReadonlySet<OutboxStage> {
  if (stages === undefined) return new Set(DELIVERED_BY_DEFAULT)
  if (!Array.isArray(stages) || stages.length === 0) throw invalid('stages', stages, 'an array of stages')
  for (const [index, stage] of stages.entries()) {
    if (stage === undefined) throw invalid(`stages[${index}]`, stage, `one of ${STAGES.join(', ')}`)
    oneOf(`stages[${index}]`, stage, STAGES)
  }
  return new Set(stages)
}

function bounds({ concurrency, timeoutMs, retryMinMs, retryMaxMs, triesMax }: OutboxOptions) {
  whole('concurrency', concurrency, 1, CONCURRENCY_MAX)
  whole('timeoutMs', timeoutMs, 1, MS_MAX)
  whole('retryMinMs', retryMinMs, 1, MS_MAX)
  const minMs = retryMinMs ?? 1_000
  whole('retryMaxMs', retryMaxMs, minMs, MS_MAX)
  whole('triesMax', triesMax, 1, Number.MAX_SAFE_INTEGER)
  return {
    concurrency: concurrency ?? 8,
    timeoutMs: timeoutMs ?? 30_000,
    retryMinMs: minMs,
    retryMaxMs: retryMaxMs ?? Math.max(minMs, RETRY_MAX_MS),
    triesMax: triesMax ?? Number.POSITIVE_INFINITY,
  }
}

/** The external dependencies of an outbox. */
export type OutboxEnvironment = {
  readonly clock: Clock
  /** A clock for background work: its timers do not keep the process alive. */
  readonly background: Clock
  readonly random: Random
  /** Prints a line for operators. */
  readonly warn: (line: string) => void
}

export const systemEnvironment: OutboxEnvironment = {
  clock: systemClock,
  background: backgroundClock,
  random: systemRandom,
  warn: (line) => console.warn(line),
}
