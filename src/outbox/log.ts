import { isTxlaneError } from '../errors/base.js'
import { redactForeign } from '../errors/redact.js'
import { createRepeats, kindOfWords } from '../platform/repeats.js'
import type { OutboxLease, StoredDelivery } from '../types/outbox.js'
import type { OutboxEnvironment, OutboxSettings } from './options.js'

/** Reports for operators. */
export type OutboxLog = {
  /** `restMs`: milliseconds until the next try; undefined if the delivery was given up. */
  failed(delivery: StoredDelivery, restMs: number | undefined): void
  /** Called with an error of the store; with undefined after success. */
  noted(error: unknown): void
  taken(lease: OutboxLease): void
  lost(lease: OutboxLease): void
  /** The reason why the store cannot be read or written now. */
  readonly trouble: string | undefined
  stop(): void
}

/** The first failures may come from a restart of the receiver. */
const TRIES_LOGGED_FROM = 3

type Line = {
  readonly level: 'warn' | 'error'
  readonly fields: Record<string, unknown>
  readonly message: string
}

export function createLog(
  { background, warn }: Pick<OutboxEnvironment, 'background' | 'warn'>,
  { logger, name }: Pick<OutboxSettings, 'logger' | 'name'>,
): OutboxLog {
  let trouble: string | undefined
  const repeats = createRepeats<Line>({
    clock: background,
    kindOf: ({ message, fields }) => kindOfWords(message, fields.reason, fields.error),
    report({ level, fields, message }, times) {
      if (logger) logger[level]?.({ outbox: name, ...fields, times }, message)
    },
  })

  return {
    failed({ id, chain: { chainId }, next, tries, failure: reason }, restMs) {
      const fields = { id, chainId, stage: next?.stage, tries, reason }
      if (restMs !== undefined) {
        if (tries < TRIES_LOGGED_FROM) return
        const message = 'a delivery fails, and is tried again'
        return repeats.note({ level: 'warn', fields: { ...fields, restMs: Math.round(restMs) }, message })
      }
      repeats.note({ level: 'error', fields, message: 'a delivery was given up' })
      if (logger === undefined)
        warn(`txlane: the outbox ${name} gave up on ${id} (${next?.stage}) after ${tries} tries: ${reason}`)
    },
    noted(error) {
      if (error === undefined) {
        trouble = undefined
        return
      }
      const said = isTxlaneError(error) ? error.shortMessage : error instanceof Error ? error.message : error
      trouble = redactForeign(String(said))
      repeats.note({ level: 'warn', fields: { error: trouble }, message: 'the store of the outbox fails' })
    },
    taken({ epoch }) {
      if (logger) logger.info({ outbox: name, epoch }, 'outbox: this process delivers')
    },
    lost({ epoch }) {
      if (logger) logger.warn?.({ outbox: name, epoch }, 'outbox: another process may deliver')
    },
    get trouble() {
      return trouble
    },
    stop: repeats.stop,
  }
}
