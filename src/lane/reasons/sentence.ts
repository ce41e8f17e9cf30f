import type { HoldReason } from '../../types/index.js'
import type { WaitCause, WaitReason } from '../../types/wait.js'

/** Builds the public reason from a cause. */
export function reasonOf(cause: WaitCause, sinceMs: number): WaitReason {
  return { ...cause, sinceMs, sentence: sentenceOf(cause), operator: needsOperator(cause) }
}

/**
 * One plain sentence for a cause. The message of an endpoint is quoted unchanged, because it was cut and
 * redacted before.
 */
function sentenceOf(cause: WaitCause): string {
  switch (cause.for) {
    case 'estimate':
      return estimateSentence(cause)
    case 'condition':
      return `It waits for the transaction${cause.after.length === 1 ? '' : 's'} ${list(cause.after)}, which it was sent after.`
    case 'funds':
      return fundsSentence(cause)
    case 'order':
      return cause.behind === undefined
        ? 'It waits for its turn in the queue.'
        : `It waits behind the transaction ${cause.behind}, which goes first.`
    case 'hold':
      return holdSentence(cause)
    case 'fee':
      return feeSentence(cause)
    case 'window':
      return `The window is full: ${cause.uncovered} of ${cause.size} nonces are not covered by the chain or the pool yet.`
    case 'group':
      return cause.bound === 'inFlightMax'
        ? `Its group ${JSON.stringify(cause.group)} has as many transactions in flight as it may.`
        : 'Transactions that name a group have the gas of one block in flight: it waits for a block.'
    case 'signature':
      return cause.failed
        ? "The account's signer failed, and is asked again soon."
        : 'Its signature is being made.'
    case 'journal':
      return 'The store has not confirmed its record yet.'
    case 'nonce':
      return `Nonce ${cause.nonce} has to be used first.`
    case 'endpoint':
      return cause.said === undefined
        ? `The endpoint ${cause.endpoint} has not answered for its bytes yet.`
        : `The endpoint ${cause.endpoint} has not accepted its bytes; it${quoted(cause.said)}.`
    case 'block':
      return cause.head === undefined
        ? 'It waits for the next block.'
        : `It waits for a block after ${cause.head}.${saidOf(cause.said)}`
    case 'receipt':
      return `It is in a sealed block, and no endpoint has shown its receipt yet${cause.said === undefined ? '' : `; one${quoted(cause.said)}`}.`
    case 'finality':
      return `It is in a sealed block that is not ${cause.stage} yet.`
    case 'evidence':
      return cause.nonce === undefined
        ? 'It is not known whether it executed: look it up, and call resolve().'
        : `Another transaction may have used its nonce ${cause.nonce}: the blocks are being read.`
    default:
      return cause satisfies never
  }
}

/** Whether the lane cannot end this wait by itself. */
function needsOperator(cause: WaitCause): boolean {
  if (cause.for === 'hold') return cause.holds.some((hold) => OPERATOR_HOLDS.has(hold))
  if (cause.for === 'evidence') return cause.nonce === undefined
  return cause.for === 'funds'
}

const OPERATOR_HOLDS: ReadonlySet<HoldReason> = new Set<HoldReason>([
  'paused',
  'starved',
  'deepReorg',
  'storeBehindChain',
  'storeReplaced',
  'rebound',
])

const HOLDS: Readonly<Record<HoldReason, string>> = {
  paused: 'it was paused, until resume()',
  starved: 'the account cannot pay for the lowest nonce, until it has more money',
  blocked: 'a no-op that fills a nonce cannot be paid or is refused',
  unknownCommit: 'the store did not say whether it kept the last write, and is read again',
  jump: "the account's count moved by more than 64 without this lane",
  deepReorg: 'a block that counted as settled left the chain, until resume()',
  storeBehindChain: 'the store knows less than the chain, until resume()',
  seeding: 'the counts that the endpoint shows for the account are not believed yet',
  storeReplaced: 'the file of the store was replaced or removed',
  rebound: 'a transaction lost more than three nonces to others, until resume()',
  feeBudget: 'the next transaction could bring its fees above `fees.budget`',
  authorizing: 'a transaction that authorizes for the account is under way, and goes alone',
}

/** How to end a hold that needs an operator: its own detail, followed by this text. */
const LIFTS: Partial<Readonly<Record<HoldReason, string>>> = {
  starved: 'The account cannot pay for its lowest nonce. It goes on when the account has more money.',
  blocked:
    'A no-op that has to fill a nonce cannot be paid, is refused, or would cost more than the ceiling. It goes on when the account has more money, a higher `fees.ceiling`, or the nonce was used.',
  jump: "The account's count moved by more than 64 without this lane. Blocks may explain it; `resume()` believes it.",
  deepReorg:
    'A block that counted as settled left the chain. It lifts by itself when the same block comes back; else look at the chain, then call `resume()`.',
  storeBehindChain:
    'The store knows less than the chain: it may be an old copy. Look at both, then call `resume()`.',
  storeReplaced: 'The file of the store was replaced or removed. Start the process again with the right one.',
  feeBudget:
    'It goes on as the window slides, or with a higher budget (`setFees`); `resume()` begins the window anew.',
  rebound:
    'A transaction lost more than three nonces to others. Find the other user of the key, then call `resume()`.',
}

/**
 * Describes in a sentence or two how to end a hold that needs an operator. Undefined for a hold that lifts by
 * itself.
 */
export function holdLift(hold: HoldReason, detail: string | undefined): string | undefined {
  const lift = LIFTS[hold]
  return lift === undefined || detail === undefined ? lift : `${detail.replace(/\.$/, '')}. ${lift}`
}

function holdSentence({ holds, details }: Extract<WaitCause, { for: 'hold' }>): string {
  const why = holds.map((hold) => details?.[hold]?.replace(/\.$/, '') ?? HOLDS[hold])
  return `The lane reserves no nonces for now: ${why.join('; ')}.`
}

function estimateSentence({ endpoint, said, tries }: Extract<WaitCause, { for: 'estimate' }>): string {
  if (said === undefined) return `The endpoint ${endpoint} has not answered for its gas estimate yet.`
  const times = tries === 1 ? 'once' : `${tries} times`
  return `Its gas estimate was asked for ${times} and is asked for again; the endpoint ${endpoint}${quoted(said)}.`
}

function fundsSentence({ neededWei, balanceWei, said }: Extract<WaitCause, { for: 'funds' }>): string {
  const needs = neededWei === undefined ? '' : `: it may cost ${neededWei} wei`
  const has =
    balanceWei === undefined ? '' : `${needs === '' ? ':' : ', and'} the account has ${balanceWei} wei`
  return `It waits for money${needs}${has}${said === undefined ? '' : `; the endpoint${quoted(said)}`}.`
}

function feeSentence({ endpoint, said, offeredWei, baseFeeWei }: Extract<WaitCause, { for: 'fee' }>): string {
  if (offeredWei !== undefined && baseFeeWei !== undefined)
    return `It offers ${offeredWei} wei for a unit of gas, and the base fee is ${baseFeeWei} wei.`
  if (said === undefined) return `The endpoint ${endpoint} has not answered with a gas price yet.`
  return `The endpoint ${endpoint} has not answered with a gas price; it${quoted(said)}.`
}

const quoted = (said: string) => ` said: "${said}"`
const saidOf = (said: string | undefined) => (said === undefined ? '' : ` The endpoint last said: "${said}".`)

const IDS_SHOWN_MAX = 3

function list(ids: readonly string[]): string {
  const more = ids.length - IDS_SHOWN_MAX
  const shown = ids.slice(0, IDS_SHOWN_MAX).join(', ')
  return more > 0 ? `${shown} and ${more} more` : shown
}
