import { type Address, type Chain, type Client, erc20Abi, formatUnits, type HttpTransport } from 'viem'
import { estimateFeesPerGas, estimateGas, getBalance, readContract } from 'viem/actions'
import { redactForeign } from '../../errors/redact.js'
import { count, pairs } from '../output.js'
import { Refusal } from '../program.js'
import { showAmount } from './amounts.js'
import type { Money, Problem, Row } from './rows.js'

/** What a file comes to, before anything is sent. Amounts in the smallest unit. */
export type Preview = {
  readonly lines: number
  readonly money: Money
  readonly total: bigint
  /** What is paid in the chain's own money: by transfers, or beside calls. */
  readonly totalWei: bigint
  /** At most, at the fees of now. A rollup's fee for data comes on top. */
  readonly feesWei: bigint
  readonly balanceWei: bigint
  readonly tokenBalance: bigint | undefined
  /** Lines that are equal to an earlier one: each is paid. */
  readonly repeated: readonly Row[]
  /** Lines that the node says would fail as things are. */
  readonly failing: readonly Problem[]
}

// The rest is reckoned from these: a node that is asked five thousand times says no more.
const ESTIMATED_MAX = 200

export async function previewOf(
  client: Client<HttpTransport, Chain>,
  account: Address,
  rows: readonly Row[],
  money: Money,
): Promise<Preview> {
  const sample = rows.slice(0, ESTIMATED_MAX)
  const failing: Problem[] = []
  const [fees, balanceWei, tokenBalance, ...gas] = await Promise.all([
    estimateFeesPerGas(client).catch(() => {
      throw new Refusal('The node names no fees.')
    }),
    getBalance(client, { address: account }),
    money.kind === 'token' ? tokenBalanceOf(client, money.address, account) : undefined,
    ...sample.map(async ({ line, request }) => {
      if (request.gas !== undefined) return request.gas
      return estimateGas(client, { account, ...request }).catch((error: { shortMessage?: string }) => {
        failing.push({ line, message: redactForeign(error.shortMessage ?? String(error)) })
        return 0n
      })
    }),
  ])
  const estimated = gas.filter((each) => each > 0n)
  const most = estimated.reduce((a, b) => (a > b ? a : b), 0n)
  const sum = estimated.reduce((a, b) => a + b, 0n) + most * BigInt(rows.length - sample.length)
  return {
    lines: rows.length,
    money,
    total: rows.reduce((all, { amount }) => all + amount, 0n),
    totalWei: rows.reduce((all, { request }) => all + request.value, 0n),
    feesWei: sum * fees.maxFeePerGas,
    balanceWei,
    tokenBalance,
    repeated: repeatedOf(rows),
    failing: failing.sort((a, b) => a.line - b.line),
  }
}

function tokenBalanceOf(
  client: Client<HttpTransport, Chain>,
  address: Address,
  owner: Address,
): Promise<bigint> {
  return readContract(client, { address, abi: erc20Abi, functionName: 'balanceOf', args: [owner] })
}

function repeatedOf(rows: readonly Row[]): Row[] {
  const seen = new Set<string>()
  return rows.filter(({ request }) => {
    const content = `${request.to} ${request.value} ${request.data}`.toLowerCase()
    const again = seen.has(content)
    seen.add(content)
    return again
  })
}

/** What is missing, for people; undefined where it is enough. */
export function shortOf(
  { money, total, totalWei, feesWei, balanceWei, tokenBalance }: Preview,
  symbol: string,
) {
  const native: Money = { kind: 'native', symbol }
  if (tokenBalance !== undefined && tokenBalance < total)
    return `${showAmount(total - tokenBalance, money)} are missing`
  const missing = totalWei + feesWei - balanceWei
  return missing > 0n ? `${showAmount(missing, native)} are missing for payments and fees` : undefined
}

const SHOWN_MAX = 5

export function renderPreview(preview: Preview, symbol: string, from: string, chain: string): string {
  const { lines, money, total, totalWei, feesWei, balanceWei, tokenBalance, repeated, failing } = preview
  const native: Money = { kind: 'native', symbol }
  const rows: [string, string][] = [
    ['chain', chain],
    ['from', from],
    ['lines', lines.toLocaleString('en')],
    ['total', showAmount(total, money)],
    ...(money.kind === 'token' && totalWei > 0n
      ? [['beside it', showAmount(totalWei, native)] as [string, string]]
      : []),
    ['fees', `at most ${round(feesWei)} ${symbol}, at the fees of now`],
    [
      'balance',
      `${showAmount(balanceWei, native)}${tokenBalance === undefined ? '' : `, ${showAmount(tokenBalance, money)}`}`,
    ],
  ]
  const short = shortOf(preview, symbol)
  return [
    pairs(rows),
    ...(short === undefined ? [] : [`Not enough: ${short}.\n`]),
    ...(repeated.length === 0
      ? []
      : [`${count(repeated.length, 'line')} equal to an earlier one, each paid: ${linesOf(repeated)}.\n`]),
    ...(failing.length === 0 ? [] : [`${count(failing.length, 'line')} would fail as things are:\n`]),
    ...failing.slice(0, SHOWN_MAX).map(({ line, message }) => `  line ${line}: ${message}\n`),
  ].join('')
}

const linesOf = (rows: readonly Row[]): string =>
  `${rows
    .slice(0, SHOWN_MAX)
    .map(({ line }) => line)
    .join(', ')}${rows.length > SHOWN_MAX ? ', …' : ''}`

/** Six digits that say something. */
const round = (wei: bigint): string => Number(formatUnits(wei, 18)).toPrecision(3)
