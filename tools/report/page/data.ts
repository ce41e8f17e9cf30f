import type { ProblemState } from '../model/problem.js'
import type { Payload, PayloadFees, PayloadKind } from '../payload.js'

export type Entry = {
  readonly at: number
  readonly event: string
  readonly nonce: number | undefined
  readonly note: string | undefined
}
export type Attempt = { readonly hash: string; readonly fees: PayloadFees; readonly at: number }

/** One transaction in the unpacked form of the page. */
export type Transaction = {
  readonly index: number
  readonly id: string
  readonly lane: number
  readonly outcome: string
  readonly entries: readonly Entry[]
  readonly attempts: readonly Attempt[]
}

/** A transaction without an end in the recording. */
export type Unfinished = {
  readonly transaction: Transaction
  readonly stage: string
  readonly since: number
  readonly why: string
}

export type Problem = {
  readonly at: number
  readonly kind: PayloadKind
  readonly times: number
  readonly lane: number
  readonly nonce: number | undefined
  readonly transaction: Transaction | undefined
  readonly what: string
  readonly state: ProblemState
  readonly ended: string
  readonly endedAt: number | undefined
}

export type Data = Pick<
  Payload,
  | 'startedAt'
  | 'endedAt'
  | 'shownFrom'
  | 'lanes'
  | 'groups'
  | 'kinds'
  | 'histogram'
  | 'spreads'
  | 'throughput'
  | 'problemsInAll'
  | 'transactionsInAll'
  | 'unfinishedInAll'
> & {
  readonly transactions: readonly Transaction[]
  readonly problems: readonly Problem[]
  readonly unfinished: readonly Unfinished[]
}

export function unpack(payload: Payload): Data {
  const transactions = payload.transactions.map((packed, index) => unpackTransaction(payload, packed, index))
  const problems = payload.problems.map((packed) => unpackProblem(payload, packed, transactions))
  const unfinished = payload.unfinished.flatMap(([index, stage, since, why]) => {
    const transaction = transactions[index]
    return transaction === undefined ? [] : [{ transaction, stage, since: payload.startedAt + since, why }]
  })
  return { ...payload, transactions, problems, unfinished }
}

function unpackTransaction(
  { startedAt, events, outcomes, fees }: Payload,
  [id, lane, outcome, packed, nonces, attempts, notes = []]: Payload['transactions'][number],
  index: number,
): Transaction {
  const [nonceAt, noteAt] = [pairs(nonces), pairs(notes)]
  const entries: Entry[] = []
  let at = startedAt
  let nonce: number | undefined
  for (let entry = 0; entry * 2 < packed.length; entry++) {
    at += packed[entry * 2 + 1] ?? 0
    nonce = (nonceAt.get(entry) as number | undefined) ?? nonce
    const event = events[packed[entry * 2] ?? -1] ?? ''
    entries.push({ at, event, nonce, note: noteAt.get(entry) as string | undefined })
  }
  return {
    index,
    id,
    lane,
    outcome: outcomes[outcome] ?? '',
    entries,
    attempts: Array.from({ length: attempts.length / 3 }, (_, attempt) => ({
      hash: String(attempts[attempt * 3]),
      fees: fees[Number(attempts[attempt * 3 + 1])] ?? [],
      at: startedAt + Number(attempts[attempt * 3 + 2]),
    })),
  }
}

function pairs(flat: readonly (string | number)[]): ReadonlyMap<number, string | number> {
  const map = new Map<number, string | number>()
  for (let index = 0; index + 1 < flat.length; index += 2)
    map.set(Number(flat[index]), flat[index + 1] as string | number)
  return map
}

function unpackProblem(
  { startedAt, kinds, states }: Payload,
  [at, kind, times, lane, nonce, transaction, what, state, ended, endedAfter]: Payload['problems'][number],
  transactions: readonly Transaction[],
): Problem {
  const known = kinds[kind] as PayloadKind
  return {
    at: startedAt + at,
    kind: known,
    times,
    lane,
    nonce: nonce < 0 ? undefined : nonce,
    transaction: transactions[transaction],
    what: what === '' ? known.what : what,
    state: states[state] ?? 'reported',
    ended,
    endedAt: endedAfter < 0 ? undefined : startedAt + at + endedAfter,
  }
}

/** The current or last nonce of the transaction. */
export function nonceOf({ entries }: Transaction): number | undefined {
  return entries.at(-1)?.nonce
}
