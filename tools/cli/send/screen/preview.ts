import { type Address, type Chain, type Client, erc20Abi, formatUnits, type HttpTransport } from 'viem'
import { estimateFeesPerGas, estimateGas, getBalance, readContract } from 'viem/actions'
import { redactForeign } from '../../../../src/errors/redact.js'
import { count, pairs } from '../../shared/output.js'
import { Refusal } from '../../shared/program.js'
import { showAmount } from '../file/amounts.js'
import type { Money, Problem, Row } from '../file/rows.js'

/** Totals of a file before it is sent. Amounts are in the smallest unit. */
export type Preview = {
  readonly lines: number
  readonly money: Money
  readonly total: bigint
  /** Total in the chain's native currency: transfers, and values of calls. */
  readonly totalWei: bigint
  /** Maximum at the current fees, without a rollup's data fee. */
  readonly feesWei: bigint
  readonly balanceWei: bigint
  readonly tokenBalance: bigint | undefined
  /** Lines that equal an earlier line; each is paid. */
  readonly repeated: readonly Row[]
  /** Lines that would currently fail according to the node. */
  readonly failing: readonly Problem[]
}

// Gas of the other lines is extrapolated from these: thousands of estimates would add no information.
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
      throw new Refusal('The node does not estimate fees.')
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

/** The missing amount for display; undefined if the balance suffices. */
export function shortOf(
  { money, total, totalWei, feesWei, balanceWei, tokenBalance }: Preview,
  symbol: string,
) {
  const native: Money = { kind: 'native', symbol }
  if (tokenBalance !== undefined && tokenBalance < total)
    return `${showAmount(total - tokenBalance, money)} missing`
  const missing = totalWei + feesWei - balanceWei
  return missing > 0n ? `${showAmount(missing, native)} missing for payments and fees` : undefined
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
      ? [['native value', showAmount(totalWei, native)] as [string, string]]
      : []),
    ['fees', `at most ${round(feesWei)} ${symbol}, at the current fees`],
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
      : [`${count(repeated.length, 'line')} equal to an earlier line, each paid: ${linesOf(repeated)}.\n`]),
    ...(failing.length === 0 ? [] : [`${count(failing.length, 'line')} would fail now:\n`]),
    ...failing.slice(0, SHOWN_MAX).map(({ line, message }) => `  line ${line}: ${message}\n`),
  ].join('')
}

const linesOf = (rows: readonly Row[]): string =>
  `${rows
    .slice(0, SHOWN_MAX)
    .map(({ line }) => line)
    .join(', ')}${rows.length > SHOWN_MAX ? ', …' : ''}`

/** Three significant digits. */
const round = (wei: bigint): string => Number(formatUnits(wei, 18)).toPrecision(3)
