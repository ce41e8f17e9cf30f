import { formatUnits } from 'viem'
import type { PayoutLine, PayoutReport } from './payout.js'

type Status = PayoutLine['status']
type Money = PayoutLine['money']

/** Whether the recipient has the money. `unsure`: the report cannot say yet. */
export type Outcome = 'paid' | 'unpaid' | 'unsure'

export const OUTCOMES: Readonly<Record<Outcome, string>> = {
  paid: 'Paid',
  unpaid: 'Not paid',
  unsure: 'Not certain yet',
}

type StatusWords = {
  readonly outcome: Outcome
  /** Says more than the outcome. */
  readonly word: string
  /** Heading of these lines. */
  readonly heading: string
  readonly happened: string
  /** HTML. */
  readonly remedy: string
}

/** The statuses in the order of their urgency, in words for readers without knowledge of blockchains. */
export const STATUSES: Readonly<Record<Status, StatusWords>> = {
  unresolved: {
    outcome: 'unsure',
    word: 'unclear',
    heading: 'Unclear whether paid',
    happened:
      'The payment was sent and its place in the account was used, but no server of the chain shows by which transaction.',
    remedy:
      'Do not pay these lines in another way. Look for the payment in the account’s history in an explorer of the chain; then the operator of txlane records the answer.',
  },
  open: {
    outcome: 'unsure',
    word: 'not finished',
    heading: 'Not finished when this report was made',
    happened: 'The run ended before the chain confirmed these payments. They may still be paid.',
    remedy:
      'Do not pay these lines in another way. Run the same command again: it continues, and pays each line once.',
  },
  reverted: {
    outcome: 'unpaid',
    word: 'undone by the chain',
    heading: 'Not paid: undone by the chain',
    happened:
      'The transaction was carried out and undone, because the contract of the token or of the recipient refused it. The recipient got nothing. The fee was charged all the same.',
    remedy:
      'Remove the cause. Then run the same command with <code>--retry-reverted</code>: it sends them again.',
  },
  unmoved: {
    outcome: 'unpaid',
    word: 'no tokens moved',
    heading: 'Not paid: the token reported no transfer',
    happened:
      'The transaction was carried out, and the contract of the token moved nothing. The recipient got nothing. The fee was charged all the same.',
    remedy:
      'Ask the publisher of the token why it refused. Then run the same command with <code>--retry-reverted</code>: it sends them again.',
  },
  partial: {
    outcome: 'paid',
    word: 'another amount arrived',
    heading: 'Paid, and another amount arrived',
    happened: 'The contract of the token gave the recipient another amount than it was asked to.',
    remedy:
      'Pay the difference with a new file, if it is owed. A token that keeps a part keeps a part of that too.',
  },
  failed: {
    outcome: 'unpaid',
    word: 'not sent',
    heading: 'Not paid: not sent',
    happened:
      'No transaction was carried out for these lines, and none will be by itself. The recipient got nothing.',
    remedy: 'Remove the cause. Then run the same command again: it sends only the lines that are not paid.',
  },
  cancelled: {
    outcome: 'unpaid',
    word: 'cancelled',
    heading: 'Not paid: cancelled on request',
    happened: 'The payment was cancelled before it was carried out. The recipient got nothing.',
    remedy: 'Nothing. If a line has to be paid after all, put it into a new file.',
  },
  paid: { outcome: 'paid', word: '', heading: 'Paid', happened: '', remedy: '' },
}

/** The codes of errors in plain words. A code that is not listed is shown as it was reported. */
const REASONS: Readonly<Record<string, string>> = {
  NO_TRANSFER: 'The token reported no transfer.',
  OTHER_AMOUNT: 'The token keeps a part of each transfer.',
  NO_RECEIPT: 'No server of the chain shows the receipt of the transaction, which says whether it worked.',
  STARVED: 'The account did not have enough money for the amount and the fee.',
  REJECTED: 'The servers of the chain did not accept the payment.',
  UNREACHABLE: 'No server of the chain answered.',
  EXPIRED: 'The payment was not carried out before its deadline.',
  DEPENDENCY: 'An earlier payment, on which this one depends, was not paid.',
  CANCELLED: 'The payment was cancelled on request.',
  SUPERSEDED: 'Another transaction replaced this payment.',
  CLOSED: 'The run was stopped before the payment was confirmed.',
  ABORTED: 'The run was stopped before the payment was sent.',
  UNRESOLVED: 'No server of the chain shows the transaction that took the place of this payment.',
}

/** A contract refused the payment: that of the token, or for the currency of the chain that of the recipient. */
function refusalReason(code: string, { token }: Money): string | undefined {
  if (code !== 'PREPARE_REVERTED' && code !== 'REVERTED') return undefined
  const [refuser, often] =
    token === undefined
      ? ['recipient is a contract, which', 'Often it is not made to receive this currency.']
      : ['contract of the token', 'Often the account has too few tokens, or the recipient is blocked.']
  return code === 'REVERTED'
    ? `The ${refuser} refused the payment.`
    : `A trial run showed that the ${refuser} refuses this payment. ${often}`
}

/** The reason in plain words, and the message as it was reported; each undefined if there is none. */
export function reasonOf({ error, hash, status, money }: PayoutLine): {
  readonly plain: string | undefined
  readonly reported: string | undefined
} {
  const code = /^[A-Z_]+(?=:|$)/.exec(error ?? '')?.[0]
  const known = code === undefined ? undefined : (refusalReason(code, money) ?? REASONS[code])
  if (error !== undefined || status !== 'open') return { plain: known, reported: error }
  const plain =
    hash === undefined ? 'Its end was not seen.' : 'It was sent, and no block with it was seen yet.'
  return { plain, reported: undefined }
}

/**
 * `1,250.00`. Exact: at least two digits after the point, so that `1,250` is never read as a fraction, and as
 * many more as the amount has.
 */
export function amountText(amount: bigint, { decimals }: Pick<Money, 'decimals'>): string {
  const [whole = '', fraction = ''] = formatUnits(amount, decimals).split('.')
  const digits = fraction.padEnd(Math.min(2, decimals), '0')
  const grouped = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
  return digits === '' ? grouped : `${grouped}.${digits}`
}

const FEE_DIGITS = 5

/** A fee in the native currency, with five significant digits, because all eighteen do not fit a table. */
export function feeText(wei: bigint): string {
  const exact = formatUnits(wei, 18)
  const rounded = rounding(wei)
  return rounded === wei ? exact : formatUnits(rounded, 18)
}

function rounding(wei: bigint): bigint {
  const dropped = 10n ** BigInt(Math.max(0, String(wei).length - FEE_DIGITS))
  return ((wei + dropped / 2n) / dropped) * dropped
}

/** `2026-11-29 14:02:11`, in UTC; undefined for a text that is not a time. */
export function utcTime(iso: string | undefined): string | undefined {
  const at = Date.parse(iso ?? '')
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)

/** `29 November 2026` and `14:02`, in UTC. */
export function longTime(iso: string): readonly [day: string, time: string] {
  const [date = '', time = ''] = utcTime(iso)?.split(' ') ?? []
  const [year, month, day] = date.split('-').map(Number)
  return [`${day} ${MONTHS[(month ?? 1) - 1]} ${year}`, time.slice(0, 5)]
}

/** txlane makes such ids for files without an id column: 16 digits of a hash and a count. */
const MADE_ID = /^[0-9a-f]{16}-\d+$/

/** Whether the file itself has ids. Ids that txlane generates are of no use to a reader. */
export function hasOwnIds({ lines }: Pick<PayoutReport, 'lines'>): boolean {
  return lines.some(({ id }) => !MADE_ID.test(id))
}
