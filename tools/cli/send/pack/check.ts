import { type Client, erc20Abi } from 'viem'
import { readContract } from 'viem/actions'
import { Refusal } from '../../shared/program.js'
import { exactAmount } from '../file/amountText.js'
import type { Money, Row } from '../file/rows.js'
import type { Disperse } from './contract/contract.js'
import { type Payments, type Proof, provePayment, tryToDraw, UNUSED } from './contract/probe.js'
import { sumOf } from './payment.js'

type Checked = {
  readonly client: Client
  readonly account: `0x${string}`
  readonly disperse: Disperse
}

/** @throws Refusal if the contract does not pass native currency on exactly, or the node cannot simulate it */
export async function checkContract({ client, account, disperse }: Checked): Promise<void> {
  const money: Money = { kind: 'native', symbol: 'wei' }
  refuseUnlessExact(await provePayment(client, account, disperse.address, money, unused()), {
    what: 'native currency',
    disperse,
  })
}

/**
 * Checks a token before anything of it is approved: that a pack pays each recipient exactly, and, for a contract
 * with unknown code, that a stranger cannot draw on the approval. Without a balance there is nothing to check,
 * and nothing to pay.
 * @throws Refusal if a pack is not safe
 */
export async function checkToken(
  { client, account, disperse }: Checked,
  rows: readonly Row[],
): Promise<void> {
  const money = rows[0]?.money
  if (money?.kind !== 'token') return
  const { address, symbol } = money
  const balance = await readContract(client, {
    address,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [account],
  })
  const own = rows.slice(0, UNUSED.length)
  if (sumOf(own) > balance) return
  const prove = (payments: Payments) => provePayment(client, account, disperse.address, money, payments)
  const proof = await prove(own)
  // The token may have blocked a recipient, so the simulation is repeated with two other recipients.
  const others = own.map(({ amount }, index) => ({ to: UNUSED[index] ?? account, amount }))
  refuseUnlessExact(proof.kind === 'reverts' ? await prove(others) : proof, {
    what: `${symbol} (${address})`,
    disperse,
  })
  if (disperse.isKnown) return
  const amount = sumOf(rows) < balance ? sumOf(rows) : balance
  const draw = await tryToDraw(client, account, disperse, address, amount)
  if (draw.kind === 'none') return
  throw new Refusal(
    draw.kind === 'drawn'
      ? `--disperse ${disperse.address} is not safe: in a simulation, a stranger took ${exactAmount(draw.amount, money)} of an approval for it. Nothing was approved.`
      : `--disperse ${disperse.address}: the node cannot simulate whether strangers can draw on an approval (${draw.why}). Use another node, or leave --pack out.`,
  )
}

const unused = () => UNUSED.map((to, index) => ({ to, amount: BigInt(index + 1) }))

function refuseUnlessExact(
  proof: Proof,
  { what, disperse }: { readonly what: string; readonly disperse: Disperse },
): void {
  const rest = 'Leave --pack out, or give another contract with --disperse.'
  switch (proof.kind) {
    case 'exact':
      return
    case 'differs':
      throw new Refusal(
        `A pack would not pay ${what} exactly through ${disperse.address}: in a simulation, ${proof.why} (smallest unit). ${rest}`,
      )
    case 'reverts':
    case 'funds':
      throw new Refusal(
        `${what} cannot be paid through the contract ${disperse.address}: a simulation of two payments fails (${proof.why}). ${rest}`,
      )
    case 'unknown':
      throw new Refusal(
        `--pack needs simulations with a state override (eth_call), and the node answers: ${proof.why}. Use another node, or leave --pack out.`,
      )
    default:
      return proof satisfies never
  }
}
