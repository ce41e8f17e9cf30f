// A type test of the results of `wait`, and of assignability: it is compiled with everything else (`npm run
// typecheck`), and never run. Each `@ts-expect-error` must precede an error.
import type { base } from 'viem/chains'
import type { CancelResult, Landed, ListOptions, Sender, SenderPool, Tx, WaitStage } from '../../src/index.js'

/** A value with a known chain is assignable to a type for any chain. */
export function anyChain(sender: Sender<typeof base>, pool: SenderPool<typeof base>, tx: Tx<typeof base>) {
  const senders: readonly Sender[] = [sender, pool]
  const own: Sender<typeof base> = pool
  const any: Tx = tx
  return { senders, own, any }
}

export async function waits(tx: Tx<typeof base>, stage: WaitStage) {
  for (const landed of [
    await tx.wait('sealed'),
    await tx.wait('safe'),
    await tx.wait('finalized'),
    await tx.wait(),
  ]) {
    const gasUsed: bigint = landed.receipt.gasUsed
    const blockHash: `0x${string}` = landed.receipt.blockHash
    const status: 'success' | 'reverted' = landed.status
    const l1Fee: bigint | null = landed.receipt.l1Fee
    // A narrowed result is assignable to the general type.
    const any: Landed<typeof base> = landed
    console.log(gasUsed, blockHash, status, l1Fee, any)
  }
  for (const landed of [await tx.wait('preconfirmed'), await tx.wait(stage)]) {
    // @ts-expect-error not every endpoint shows a receipt before the block is sealed
    console.log(landed.receipt.gasUsed)
    // @ts-expect-error nor what became of it
    const status: 'success' | 'reverted' = landed.status
    if (landed.stage !== 'preconfirmed') console.log(landed.receipt.gasUsed, status)
  }
  // @ts-expect-error no stage
  await tx.wait('queued')
}

export function tooLate(result: CancelResult<typeof base>): bigint | undefined {
  return result.result === 'tooLate' ? result.landed.receipt.gasUsed : undefined
}

export async function records(sender: Sender<typeof base>) {
  const options: ListOptions = {
    stage: 'sealed',
    group: 'orders',
    createdAfter: new Date(0),
    createdBefore: '2026-01-01',
  }
  const { items, cursor } = await sender.list({ ...options, account: sender.address, limit: 5 })
  const [first] = items
  const total: string | undefined = first?.costs?.totalFee
  const reason: string | undefined = first?.error?.reason
  sender.on('held', ({ chainId, address, reason: why }) => console.log(chainId, address, why))
  sender.on('leaseGained', ({ epoch, takeover, address }) => console.log(epoch, takeover, address))
  // @ts-expect-error a group is text
  await sender.send({ to: sender.address }, { group: 5 })
  return { total, reason, times: [first?.updatedAt, first?.finishedAt], cursor }
}
