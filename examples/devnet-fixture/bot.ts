import type { Sender } from 'txlane'
import type { Address, Client } from 'viem'
import { getBalance } from 'viem/actions'

/** Keeps wallets above a floor: each wallet below it gets `amount`, once per round. */
export async function topUp(
  sender: Sender,
  client: Client,
  wallets: readonly Address[],
  { round, floor, amount }: { round: string; floor: bigint; amount: bigint },
): Promise<readonly Address[]> {
  const balances = await Promise.all(wallets.map((address) => getBalance(client, { address })))
  const low = wallets.filter((_, index) => (balances[index] ?? 0n) < floor)
  // The id makes it safe to repeat a round: its transactions are not sent twice.
  const items = low.map((to) => ({ id: `${round}/${to}`, request: { to, value: amount, gas: 21_000n } }))
  const paid: Address[] = []
  for await (const result of sender.sendMany(items, { until: 'sealed' })) {
    if (result.ok) paid.push(low[result.index] as Address)
  }
  return paid
}
