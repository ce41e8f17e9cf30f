import { systemClock } from '../../src/platform/clock.js'
import { startDevnet } from '../../tools/devnet/index.js'
import { createPlainRpc } from '../demo/plainRpc.js'
import { bundleChild } from '../support/bundleChild.js'
import { REVERTER, REVERTER_CODE } from '../sweep/asks.js'
import { waitingIn } from '../sweep/chain.js'
import { openFile, openServer } from '../sweep/place.js'
import type { LifeOrder } from './asks.js'
import { type Lane, runGroup } from './group.js'
import { openLeases } from './lease.js'
import type { CrashOptions } from './options.js'
import { type Kill, planSweep } from './plan.js'
import { type CrashResult, type Ran, resultOf } from './result.js'

const CHILD = new URL('child/main.ts', import.meta.url)

// Faster than real chains: a life gets from its first send to a verdict in less than a second.
const BLOCKS = { blockTimeMs: 300, flashblockMs: 150 }

export type Progress = {
  killed(kill: Kill, at: string): void
  checked(ran: Ran): void
}

/** Makes the kills, and compares all asks with the chain. `stop` ends it after a group. */
export async function runCrash(
  options: CrashOptions,
  progress: Progress,
  stop: AbortSignal,
): Promise<CrashResult> {
  const startedAtMs = systemClock.now()
  const groups = planSweep(options.kills, options.seed).filter(
    ({ number }) => options.group === undefined || number === options.group,
  )
  await using bundle = await bundleChild(CHILD)
  await using target = await openPlace(options)
  const { store } = target
  await using leases = await openLeases(store)
  await using devnet = await startDevnet({
    ...BLOCKS,
    seed: options.seed,
    accounts: Math.max(...groups.map(({ number }) => number)) + 1,
  })
  const rpc = createPlainRpc(devnet.url)
  await rpc.call('anvil_setCode', REVERTER, REVERTER_CODE)

  const ran: Ran[] = []
  for (const group of groups) {
    if (stop.aborted) break
    const lane: Lane = {
      bundle: bundle.path,
      seed: options.seed,
      account: devnet.accounts[group.number]!.address,
      order: {
        url: devnet.url,
        chainId: devnet.chain.id,
        blockTimeMs: BLOCKS.blockTimeMs,
        account: group.number,
        store,
      },
      leases,
      rpc,
      startBlock: Number(await rpc.call('eth_blockNumber')),
      waiting: async () => waitingIn(await devnet.pool()),
      killed: progress.killed,
    }
    const one = { number: group.number, result: await runGroup(lane, group) }
    ran.push(one)
    progress.checked(one)
  }
  return resultOf(ran, options, (systemClock.now() - startedAtMs) / 1_000)
}

type Place = AsyncDisposable & { readonly store: LifeOrder['store'] }

async function openPlace({ store, postgres }: CrashOptions): Promise<Place> {
  if (store === 'memory') return { store: { kind: store }, async [Symbol.asyncDispose]() {} }
  return store === 'sqlite' ? openFile('crash') : openServer('crash', postgres)
}
