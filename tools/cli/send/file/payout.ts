import { readFile } from 'node:fs/promises'
import { type Address, type Chain, type Client, erc20Abi, type Transport } from 'viem'
import { readContract } from 'viem/actions'
import { Refusal } from '../../shared/program.js'
import { isUnit, unitsOf } from './amounts.js'
import { checkRows } from './check.js'
import { readRows } from './read.js'
import type { Doubt, Money, Payout, Problem, Row } from './rows.js'

/** The answers of the user to questions that a file may leave open. */
export type FileOptions = {
  /** Tokens that the amounts are paid in, or that the symbols of a token column refer to. */
  readonly tokens: readonly Address[]
  /** The unit of numbers without a unit. */
  readonly unit: string | undefined
  /** The meaning of columns: `to=Wallet,amount=3`. */
  readonly columns: string | undefined
  readonly decimal: 'point' | 'comma' | undefined
  /** The sheet of a spreadsheet with several sheets. */
  readonly sheet: string | undefined
  /** The addresses of names that an earlier run resolved. These names are never resolved anew. */
  readonly names?: ReadonlyMap<string, Address> | undefined
}

export type PayoutChain = { readonly client: Client<Transport, Chain>; readonly chain: Chain }

/**
 * Reads a file of payments and checks all of it.
 * @throws Refusal with every mistake and its line: nothing is paid if one line is invalid
 */
export async function readPayout(path: string, options: FileOptions, chain: PayoutChain): Promise<Payout> {
  const text = await readFile(path, 'utf8').catch(() => {
    throw new Refusal(`${path} cannot be read.`)
  })
  const money = await moneyOf(chain, options.tokens[0])
  if (options.unit !== undefined && !isUnit(options.unit, money)) {
    throw new Refusal(`--unit ${options.unit} is none of ${unitsOf(money).join(', ')}.`)
  }
  const read = readRows(path, text)
  const checked = checkRows(read.rows, money, options.unit)
  const problems = [...read.problems, ...checked.problems].sort((a, b) => a.line - b.line)
  if (problems.length > 0) throw refusalOf(path, problems)
  if (checked.rows.length === 0) throw new Refusal(`${path} has no lines to send.`)
  return {
    columns: Object.keys(read.rows[0]?.fields ?? {}),
    rows: checked.rows,
    understood: [],
    doubts: repeatedIn(checked.rows),
  }
}

function repeatedIn(rows: readonly Row[]): readonly Doubt[] {
  const seen = new Set<string>()
  const lines = rows
    .filter(({ request }) => {
      const content = `${request.to} ${request.value} ${request.data}`.toLowerCase()
      return seen.has(content) || !seen.add(content)
    })
    .map(({ line }) => line)
  const message = `${lines.length === 1 ? '1 line is' : `${lines.length} lines are`} equal to an earlier one and paid too: line ${lines.slice(0, 5).join(', ')}.`
  return lines.length === 0 ? [] : [{ kind: 'repeated', lines, message }]
}

const PROBLEMS_MAX = 50

function refusalOf(path: string, problems: readonly Problem[]): Refusal {
  const shown = problems.slice(0, PROBLEMS_MAX).map(({ line, message }) => `  line ${line} ${message}`)
  const more = problems.length > PROBLEMS_MAX ? [`  … and ${problems.length - PROBLEMS_MAX} more`] : []
  return new Refusal([`${path} was not sent:`, ...shown, ...more].join('\n'))
}

async function moneyOf({ client, chain }: PayoutChain, token: Address | undefined): Promise<Money> {
  if (token === undefined) return { kind: 'native', symbol: chain.nativeCurrency.symbol }
  const read = (functionName: 'decimals' | 'symbol') =>
    readContract(client, { address: token, abi: erc20Abi, functionName })
  try {
    const [decimals, symbol] = await Promise.all([read('decimals'), read('symbol')])
    return { kind: 'token', address: token, symbol: String(symbol), decimals: Number(decimals) }
  } catch {
    throw new Refusal(
      `${token} does not answer decimals() and symbol() on ${chain.name}: is it a token there?`,
    )
  }
}
