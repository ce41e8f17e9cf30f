import { isTxlaneError } from '../errors/base.js'
import { redactForeign, redactText } from '../errors/redact.js'
import type { SenderEvents, Tx } from '../types/index.js'
import type { EventFields, RecordedAttempt, RecordedError } from './schema.js'

/** The written fields of each event. One entry per event; the compiler reports a missing one. */
export type FieldsOf = {
  readonly [event in keyof SenderEvents]: (payload: SenderEvents[event]) => EventFields
}

/** Each attempt is written once. The map lives as long as the transactions do. */
export function createFields(reported: WeakMap<Tx, string> = new WeakMap()): FieldsOf {
  const ofTx = ({ tx }: { readonly tx: Tx }): EventFields => txFields(tx, reported)
  const ofEnd = ({ tx, error }: SenderEvents['failed']): EventFields => ({
    ...txFields(tx, reported),
    error: describeError(error),
  })
  return {
    queued: ofTx,
    signed: ofTx,
    accepted: ofTx,
    preconfirmed: ofTx,
    sealed: ofTx,
    reverted: ofTx,
    failed: ofEnd,
    cancelled: ofEnd,
    superseded: ofEnd,
    replaced: ofTx,
    rebroadcast: ofTx,
    stuck: ofTx,
    feeCeiling: ofTx,
    foreign: ofNonce,
    displaced: ofNonce,
    unresolved: ofNonce,
    gap: ofNonce,
    gapFilled: ofNonce,
    reorged: ofNonce,
    deepReorg: ofNonce,
    reordered: ({ tx, waitingFor }) => ({ ...txFields(tx, reported), waitingFor: waitingFor.for }),
    corrected: ofNonce,
    rebound: ({ tx, times }) => ({ ...txFields(tx, reported), times }),
    waiting: ({ tx, waitingFor }) => ({ ...txFields(tx, reported), waitingFor: waitingFor.for }),
    held: ({ reason, detail }) => ({ reason, ...textOf('detail', detail) }),
    released: ({ reason }) => ({ reason }),
    endpoint: ({ name, role, change, reason, said }) => ({
      endpoint: redactText(name),
      role,
      change,
      ...textOf('reason', reason),
      ...textOf('said', said),
    }),
    leaseGained: ({ epoch, takeover }) => ({ epoch, takeover }),
    leaseLost: ({ epoch }) => ({ epoch }),
    error: ({ error, times }) => ({ ...transactionOf(error), error: describeError(error), times }),
  }
}

function txFields(tx: Tx, reported: WeakMap<Tx, string>): EventFields {
  const { id, stage, nonce, hash } = tx
  const attempts = unrecorded(tx, reported)
  return {
    id,
    stage,
    ...(nonce === undefined ? {} : { nonce }),
    ...(hash === undefined ? {} : { hash }),
    ...(attempts.length === 0 ? {} : { attempts }),
  }
}

function unrecorded(tx: Tx, reported: WeakMap<Tx, string>): readonly RecordedAttempt[] {
  const { attempts } = tx
  const newest = attempts.at(-1)
  const last = reported.get(tx)
  if (newest === undefined || newest.hash === last) return []
  reported.set(tx, newest.hash)
  // After a change of nonce, or a read from the store, the last written attempt may be missing. Then all
  // attempts are written.
  const from = attempts.findIndex(({ hash }) => hash === last) + 1
  return attempts.slice(from).map(({ nonce, hash, fees }) => ({ nonce, hash, ...feesText(fees) }))
}

function feesText(fees: Tx['attempts'][number]['fees']): Omit<RecordedAttempt, 'nonce' | 'hash'> {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = fees as Readonly<
    Record<string, bigint | undefined>
  >
  return {
    ...(gasPrice === undefined ? {} : { gasPrice: String(gasPrice) }),
    ...(maxFeePerGas === undefined ? {} : { maxFeePerGas: String(maxFeePerGas) }),
    ...(maxPriorityFeePerGas === undefined ? {} : { maxPriorityFeePerGas: String(maxPriorityFeePerGas) }),
  }
}

type NoncePayload = SenderEvents['foreign']

/** The hash is that of the event, for example of a foreign transaction. */
function ofNonce({ nonce, hash, tx }: NoncePayload): EventFields {
  return {
    ...(tx === undefined ? {} : { id: tx.id, stage: tx.stage }),
    // If the nonce is not known, the event has a negative one.
    ...(nonce < 0 ? {} : { nonce }),
    ...(hash === undefined ? {} : { hash }),
  }
}

function transactionOf(error: unknown): EventFields {
  if (!isTxlaneError(error) || error.tx === undefined) return {}
  const { id, nonce, hash } = error.tx
  return { id, ...(nonce === undefined ? {} : { nonce }), ...(hash === undefined ? {} : { hash }) }
}

const MESSAGE_MAX = 400

/** A sentence that may quote an endpoint: truncated, without URLs and secrets, whichever code wrote it. */
function textOf<name extends 'detail' | 'reason' | 'said'>(
  name: name,
  sentence: string | undefined,
): { readonly [field in name]?: string } {
  if (sentence === undefined) return {}
  return { [name]: cut(redactText(sentence)) } as { readonly [field in name]: string }
}

const cut = (text: string) => (text.length > MESSAGE_MAX ? `${text.slice(0, MESSAGE_MAX)}…` : text)

/** The recorded part of an error: without stack, cause and bytes, and only the origin of URLs. */
export function describeError(error: unknown): RecordedError {
  const { name, shortMessage, message } = (error ?? {}) as Readonly<Record<string, unknown>>
  const text =
    [shortMessage, message, error].find((one) => typeof one === 'string' && one !== '') ?? 'unknown'
  const [line = ''] = String(text).split('\n', 1)
  // Errors of txlane are redacted where they are made, and may show a transaction hash. In other errors a text
  // of that length may be a key.
  const safe = isTxlaneError(error) ? redactText(line) : redactForeign(line)
  return {
    name: typeof name === 'string' ? name : 'Error',
    ...(isTxlaneError(error) ? { code: error.code, fate: error.fate } : {}),
    message: cut(safe),
  }
}
