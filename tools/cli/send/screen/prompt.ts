import { formatUnits } from 'viem'
import type { Connection } from '../../shared/connect.js'
import { count, widthOf, wrapped } from '../../shared/output.js'
import { ask, confirm } from '../../shared/terminal.js'
import { decimalsOf, exactAmount, type Total, totalsText } from '../file/amountText.js'
import type { Doubt, Row } from '../file/rows.js'
import { doubtText } from './previewText.js'

const SKIP = '--yes'

/** A question before money is sent. */
export type Question = {
  readonly rows: readonly Row[]
  readonly totals: readonly Total[]
  readonly doubts: readonly Doubt[]
  readonly connection: Pick<Connection, 'title' | 'hasRealMoney'>
}

/**
 * Asks about each doubt, and then whether to send. On a chain with real money a person types the amount: a habit of
 * answering with y does not send it.
 * @throws Refusal without a terminal
 */
export async function mayBeSent({ rows, totals, doubts, connection }: Question): Promise<boolean> {
  for (const doubt of doubts) if (!(await confirm(`${doubtText(doubt)} Is that right?`, SKIP))) return false
  const what = `${count(rows.length, 'line')}, ${totalsText(totals)}, on ${connection.title}`
  const main = totals.find(({ amount }) => amount > 0n)
  if (!connection.hasRealMoney || main === undefined) return confirm(`Send ${what}?`, SKIP)
  process.stderr.write(`${wrapped(`This is real money: ${what}.`, widthOf(process.stderr))}\n`)
  const of = totals.length > 1 ? ` of ${main.money.symbol}` : ''
  const typed = await ask(`To send it, type the amount${of}: `, SKIP)
  if (typed !== undefined && isAmount(typed, main)) return true
  if (typed !== undefined && typed !== '') process.stderr.write(`The amount is ${amountOf(main)}. `)
  return false
}

const amountOf = ({ amount, money }: Total): string => exactAmount(amount, money)

/** Whether the text is exactly this amount: `20100.5`, `20,100.50`, `20,100.5 USDC`. */
export function isAmount(text: string, total: Total): boolean {
  const { amount, money } = total
  const whole = `${formatUnits(amount, decimalsOf(money))} ${money.symbol}`
  const typed = plain(text)
  return [amountOf(total), whole].some((each) => {
    const [number = ''] = plain(each).split(' ')
    return typed === plain(each) || typed === number
  })
}

/** Without separators of thousands, closing zeros of a fraction, and capitals. */
function plain(text: string): string {
  const [number = '', ...unit] = text.trim().toLowerCase().split(/\s+/)
  const digits = /^\d{1,3}(,\d{3})+(\.\d*)?$/.test(number) ? number.replaceAll(',', '') : number
  const short = digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits
  return [short, ...unit].join(' ')
}
