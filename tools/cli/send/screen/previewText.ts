import type { Connection } from '../../shared/connect.js'
import { count, grouped, linesText, pairs, widthOf, wrapped } from '../../shared/output.js'
import { exactAmount, roundedDown, roundedUp, type Total } from '../file/amountText.js'
import type { Doubt, Money, Payout, Row } from '../file/rows.js'
import type { Standings } from '../pay/standing.js'
import type { FailedEstimate } from './estimates.js'
import { missingAtCeiling, missingIn, type Preview } from './preview.js'
import { standingsText } from './standingText.js'

export type Shown = {
  readonly preview: Preview
  readonly payout: Pick<Payout, 'rows' | 'understood' | 'doubts'>
  readonly from: string
  readonly chain: Pick<Connection, 'name'>
  readonly plan: string
  /** The lines of earlier runs. */
  readonly standings: Standings | undefined
}

/** The preview of a run: the reading of the file, the payments, their cost, and every doubt. */
export function renderPreview(shown: Shown, stream?: Parameters<typeof widthOf>[0]): string {
  const { preview, payout, standings } = shown
  const width = widthOf(stream)
  const sentences = [
    ...(standings === undefined ? [] : [standingsText(payout.rows.length, standings)]),
    ...(preview.rows.length === 0 ? [] : missingText(preview)),
    ...payout.doubts.map(doubtText),
    ...failedText(preview),
  ]
  return `${pairs(table(shown), width)}${sentences.map((text) => `${wrapped(text, width)}\n`).join('')}`
}

function table({
  preview,
  payout,
  from,
  chain,
  plan,
  standings,
}: Shown): readonly (readonly [string, string])[] {
  const { rows, totals, fees, estimates, balances } = preview
  const [native] = balances.map(({ money }) => money) as [Money]
  if (rows.length === 0) return [...payout.understood, ['chain', chain.name], ['from', from], ['plan', plan]]
  const { nowWei, gasPriceWei, ceilingWei, ceilingPriceWei } = fees
  return [
    ...payout.understood,
    ['chain', chain.name],
    ['from', from],
    ...(standings === undefined ? [] : leftText(rows, totals)),
    ...packsText(preview),
    ...(preview.gas === 0n
      ? [['fees', 'not known: the node estimated no line'] as const]
      : [
          [
            'fees',
            `about ${roundedUp(nowWei, native)} at the present price of ${roundedUp(gasPriceWei, native)} per gas${sampleText(estimates.tried, preview.packs?.alone ?? rows)}${unknownText(estimates.unknown)}`,
          ] as const,
          [
            'at most',
            `${roundedUp(ceilingWei, native)} at ${roundedUp(ceilingPriceWei, native)} per gas, the highest price that txlane offers by itself`,
          ] as const,
        ]),
    ...balances.map(
      ({ money, before, after }) =>
        [
          `balance ${money.symbol}`,
          after < 0n
            ? `${shownBalance(before, money)}, which is not enough`
            : `${shownBalance(before, money)}, afterwards ${money.kind === 'native' ? 'about ' : ''}${shownBalance(after, money)}`,
        ] as const,
    ),
    ['plan', plan],
  ]
}

/** After fees the last digits of the native currency are not known. */
const shownBalance = (amount: bigint, money: Money): string =>
  money.kind === 'native' ? roundedDown(amount, money) : exactAmount(amount, money)

const unknownText = (lines: number): string =>
  lines === 0 ? '' : `, without ${count(lines, 'line')} whose gas is not known`

function sampleText(tried: number, rows: readonly Row[]): string {
  return tried < rows.length && tried > 0
    ? `, extrapolated from ${count(tried, 'line')} of ${grouped(rows.length)}`
    : ''
}

/** The number of transactions, and the contract that makes them fewer. */
function packsText({ packs, rows, gas }: Preview): readonly (readonly [string, string])[] {
  if (packs === undefined) return []
  const { packs: made, packedRows, approvals, alone, contract, isKnown } = packs
  const parts = [
    `${count(made, 'pack')} with ${count(packedRows, 'line')}`,
    ...(alone.length === 0 ? [] : [`${count(alone.length, 'line')} alone`]),
    ...(approvals === 0 ? [] : [count(approvals, 'approval')]),
  ]
  const why = isKnown ? 'it has the published code' : 'its code is not the published one; simulations passed'
  return [
    [
      'transactions',
      `${grouped(made + approvals + alone.length)} for ${count(rows.length, 'line')}: ${parts.join(', ')}; about ${grouped(gas)} gas`,
    ],
    ['contract', `${contract} (${why})`],
  ]
}

/** The lines that are left of a file that was paid in part, with their totals. */
function leftText(rows: readonly Row[], totals: readonly Total[]): readonly (readonly [string, string])[] {
  const [first, last] = [rows[0], rows.at(-1)] as [Row, Row]
  return [
    ...totals.map(
      ({ money, amount, lines }) =>
        ['left', `${exactAmount(amount, money)} in ${count(lines, 'line')}`] as const,
    ),
    ['left lines', first === last ? `${first.line}` : `from ${first.line} to ${last.line}`],
  ]
}

function missingText(preview: Preview): readonly string[] {
  const missing = missingIn(preview)
  if (missing.length > 0)
    return missing.map(({ money, amount }) => {
      const fees =
        preview.estimates.unknown === 0 ? 'for payments and fees' : 'for payments and the known fees'
      const what = money.kind === 'native' ? fees : 'for the payments'
      const shown = money.kind === 'native' ? roundedUp(amount, money) : exactAmount(amount, money)
      return `Not enough: ${shown} missing ${what}.`
    })
  const more = missingAtCeiling(preview)
  const native = preview.balances[0]?.money
  return more === 0n || native === undefined
    ? []
    : [
        `Enough at the present fees. If they rise to the highest price, ${roundedUp(more, native)} is missing, and the rest waits for it.`,
      ]
}

/** The message of a doubt as a sentence. */
export function doubtText({ message }: Doubt): string {
  return capital(message.endsWith('.') ? message : `${message}.`)
}

const capital = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`

const FATES: Readonly<Record<FailedEstimate['why'], (one: boolean) => string>> = {
  reverts: (one) =>
    `would revert now. txlane runs ${one ? 'it' : 'them'} again when ${one ? 'its' : 'their'} turn comes: a line that still reverts is not sent, costs nothing, and is reported as failed. The node says:`,
  refuses: (one) =>
    `would move nothing now. txlane asks the token again when ${one ? 'its' : 'their'} turn comes: a line that it still refuses is not sent, costs nothing, and is reported as failed. The token answers:`,
  funds: (one) => `${one ? 'has' : 'have'} to wait until the account has enough. The node says:`,
  unanswered: (one) =>
    `could not be checked, because the node gave no usable answer. txlane asks again before it sends ${one ? 'it' : 'them'}. The answer was:`,
}

const REASONS_SHOWN = 5

/**
 * One sentence for each reason: a paused token fails every line with the same words, and an account without funds
 * with other amounts.
 */
function failedText({ estimates: { failed } }: Preview): readonly string[] {
  const groups = new Map<string, FailedEstimate[]>()
  for (const one of failed) {
    const key = `${one.why} ${one.message.replace(/\b(0x[0-9a-f]+|\d+)\b/gi, '0')}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [one])
    else group.push(one)
  }
  const all = [...groups.values()]
  const shown = all.slice(0, REASONS_SHOWN).map((group) => {
    const { why, message, line } = group[0] as FailedEstimate
    const lines = linesText(group.map((one) => one.line))
    const of = group.every((one) => one.message === message) ? '' : ` (line ${line})`
    return `${capital(lines)} ${FATES[why](group.length === 1)} “${message}”${of}.`
  })
  const rest = all.slice(REASONS_SHOWN).flat()
  return rest.length === 0
    ? shown
    : [...shown, `${count(rest.length, 'further line')} with other answers: --json lists all.`]
}
