import { eventNames } from '../../../src/lane/emitter.js'
import type { EventFields, RecordedAttempt, RecordedError } from '../../../src/recorder/schema.js'
import type { SenderEvents } from '../../../src/types/index.js'

export type EventName = keyof SenderEvents

/** One event of a file. The file is untrusted, so each field was checked. */
export type ReportEvent = {
  readonly at: number
  readonly event: EventName
  readonly lane: string
} & { readonly [field in keyof EventFields]: EventFields[field] | undefined }

const NAMES: ReadonlySet<string> = new Set(eventNames)

export function isKnown(event: string): event is EventName {
  return NAMES.has(event)
}

export type Fields = Readonly<Record<string, unknown>>

/** Keeps the valid fields and drops the others. */
export function toEvent(at: number, event: EventName, lane: string, raw: Fields): ReportEvent {
  return {
    at,
    event,
    lane,
    id: text(raw.id),
    stage: text(raw.stage) as ReportEvent['stage'],
    nonce: count(raw.nonce),
    hash: text(raw.hash),
    attempts: attemptsOf(raw.attempts),
    reason: text(raw.reason),
    detail: text(raw.detail),
    times: count(raw.times),
    said: text(raw.said),
    waitingFor: text(raw.waitingFor) as ReportEvent['waitingFor'],
    endpoint: text(raw.endpoint),
    role: text(raw.role),
    change: text(raw.change),
    epoch: count(raw.epoch),
    takeover: typeof raw.takeover === 'boolean' ? raw.takeover : undefined,
    error: errorOf(raw.error),
  }
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function attemptsOf(value: unknown): readonly RecordedAttempt[] | undefined {
  if (!Array.isArray(value)) return undefined
  return (value as unknown[]).filter(isFields).flatMap((raw) => {
    const [nonce, hash] = [count(raw.nonce), text(raw.hash)]
    if (nonce === undefined || hash === undefined) return []
    const fees = ['gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas'].flatMap((name) => {
      const wei = text(raw[name])
      return wei !== undefined && /^\d{1,78}$/.test(wei) ? [[name, wei] as const] : []
    })
    return [{ nonce, hash, ...Object.fromEntries(fees) }]
  })
}

function errorOf(value: unknown): RecordedError | undefined {
  if (!isFields(value)) return undefined
  const [code, fate] = [text(value.code), text(value.fate)]
  return {
    name: text(value.name) ?? 'Error',
    message: text(value.message) ?? '',
    ...(code === undefined ? {} : { code }),
    ...(fate === undefined ? {} : { fate }),
  }
}
