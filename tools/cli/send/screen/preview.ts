import { type Address, type Chain, type Client, erc20Abi, type HttpTransport } from 'viem'
import { estimateFeesPerGas, getBalance, getBlock, readContract } from 'viem/actions'
import { Refusal } from '../../shared/program.js'
import { type Total, totalsOf } from '../file/amountText.js'
import type { Money, Row } from '../file/rows.js'
import type { PackEstimate } from '../pack/estimate.js'
import { type Estimates, estimate } from './estimates.js'

/** The cost of rows before they are sent. Amounts are in the smallest unit. */
export type Preview = {
  readonly rows: readonly Row[]
  /** One total for each currency, the currency with the most lines first. */
  readonly totals: readonly Total[]
  readonly fees: Fees
  readonly estimates: Omit<Estimates, 'gas'>
  /** The gas of all rows. */
  readonly gas: bigint
  /** Undefined without `--pack`. */
  readonly packs: PackEstimate | undefined
  /** One balance for each currency that the rows need, the native currency first. */
  readonly balances: readonly Balance[]
}

/** The fees for gas, without the data fee of a rollup. */
type Fees = {
  readonly gasPriceWei: bigint
  readonly nowWei: bigint
  /** The fees at the highest price that the sender offers by itself. */
  readonly ceilingWei: bigint
  readonly ceilingPriceWei: bigint
}

export type Balance = {
  readonly money: Money
  readonly before: bigint
  /** The balance after the payments and their fees at the present price; negative if it does not suffice. */
  readonly after: bigint
}

export async function previewOf(
  client: Client<HttpTransport, Chain>,
  account: Address,
  rows: readonly Row[],
  packs?: PackEstimate,
): Promise<Preview> {
  const totals = totalsOf(rows)
  const native: Money = { kind: 'native', symbol: client.chain.nativeCurrency.symbol }
  const tokens = totals.filter(({ money }) => money.kind === 'token')
  const [price, balanceWei, { gas, ...estimates }, ...tokenBalances] = await Promise.all([
    pricesOf(client),
    getBalance(client, { address: account }),
    estimate(client, account, packs?.alone ?? rows),
    ...tokens.map(({ money }) => tokenBalanceOf(client, money, account)),
  ])
  const valueWei = rows.reduce((all, { request }) => all + request.value, 0n)
  const allGas = gas + (packs?.gas ?? 0n)
  const nowWei = allGas * price.nowWei
  const balances = tokens.map(({ money, amount }, index) => {
    const before = tokenBalances[index] ?? 0n
    return { money, before, after: before - amount }
  })
  return {
    rows,
    totals,
    fees: {
      gasPriceWei: price.nowWei,
      nowWei,
      ceilingWei: allGas * price.ceilingWei,
      ceilingPriceWei: price.ceilingWei,
    },
    estimates,
    gas: allGas,
    packs,
    balances: [{ money: native, before: balanceWei, after: balanceWei - valueWei - nowWei }, ...balances],
  }
}

function tokenBalanceOf(client: Client<HttpTransport, Chain>, money: Money, owner: Address): Promise<bigint> {
  if (money.kind === 'native') throw new Error('the native currency is no contract')
  const { address } = money
  return readContract(client, { address, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }).catch(
    () => {
      throw new Refusal(`The node does not read the balance of ${money.symbol} (${address}).`)
    },
  )
}

// The default ceiling of a sender, and its first offer: see `FeePolicy`.
const CEILING_FACTOR = 10n
const BASE_FEE_FACTOR = 2n

/** The price per gas now, and the highest one that a sender offers by itself. */
async function pricesOf(
  client: Client<HttpTransport, Chain>,
): Promise<{ readonly nowWei: bigint; readonly ceilingWei: bigint }> {
  const [fees, { baseFeePerGas }] = await Promise.all([estimateFeesPerGas(client), getBlock(client)]).catch(
    () => {
      throw new Refusal('The node does not estimate fees.')
    },
  )
  const { maxFeePerGas, maxPriorityFeePerGas: tip } = fees
  if (baseFeePerGas === null) return { nowWei: maxFeePerGas, ceilingWei: CEILING_FACTOR * maxFeePerGas }
  const offer = baseFeePerGas * BASE_FEE_FACTOR + tip
  const first = offer > maxFeePerGas ? offer : maxFeePerGas
  return { nowWei: baseFeePerGas + tip, ceilingWei: CEILING_FACTOR * first }
}

/** The balances that do not suffice, with the missing amounts. */
export function missingIn({ balances }: Preview): readonly { money: Money; amount: bigint }[] {
  return balances.flatMap(({ money, after }) => (after < 0n ? [{ money, amount: -after }] : []))
}

/** The amount that is missing if the fees rise to the ceiling; 0 if the balance suffices. */
export function missingAtCeiling({ balances: [native], fees }: Preview): bigint {
  const after = (native?.after ?? 0n) + fees.nowWei - fees.ceilingWei
  return after < 0n ? -after : 0n
}

/** The currency in which a person thinks of the payout. */
export function mainTotal({ totals }: Preview): Total {
  return totals.find(({ amount }) => amount > 0n) ?? (totals[0] as Total)
}
