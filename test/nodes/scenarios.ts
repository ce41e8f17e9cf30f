import { systemClock } from '../../src/clock.js'
import { type CountingProxy, startCountingProxy } from './countingProxy.js'
import { findNode, type NodeCommand, type NodeName } from './find.js'
import { burst, freshSender, fundedAccount, landedOf, quickStart, within } from './lane.js'
import { type RunningNode, startNode } from './startNode.js'

/** What became of one scenario, in the words that are printed. */
export type Held = { readonly ok: boolean; readonly says: string }

export type Scenario = {
  readonly name: string
  readonly node: NodeName
  run(command: NodeCommand): Promise<Held>
}

const QUICK_MS = 20_000
const CLOSE_MS = 30_000
const BURST = 1_000

const quick = (name: string, node: NodeName, args: readonly string[] = []): Scenario => ({
  name,
  node,
  async run(command) {
    await using running = await startNode(command, args)
    const account = await fundedAccount(running)
    const took: string[] = []
    for (const _ of ['first', 'second']) {
      const startMs = systemClock.now()
      await quickStart(await freshSender(running, running.url, account), QUICK_MS)
      took.push(seconds(startMs))
    }
    const { dense, paid } = await landedOf(running, account)
    return {
      ok: dense && paid === 2,
      says: `first run ${took[0]}, second run ${took[1]}, ${paid} of 2 landed`,
    }
  },
})

const thousand = (name: string, node: NodeName, args: readonly string[], limitMs: number): Scenario => ({
  name,
  node,
  async run(command) {
    await using running = await startNode(command, args)
    await using proxy = await startCountingProxy(running.url)
    // Awaited here: both are stopped when this function returns.
    return await runBurst(running, proxy, limitMs)
  },
})

async function runBurst(running: RunningNode, proxy: CountingProxy, limitMs: number): Promise<Held> {
  const account = await fundedAccount(running)
  const sender = await freshSender(running, proxy.url, account)
  const startMs = systemClock.now()
  const sealed = await burst(sender, BURST, limitMs)
  const took = seconds(startMs)
  const { holds, floor, cursor } = await sender.snapshot()
  await within(CLOSE_MS, 'close()', sender.close())
  const { dense, paid, distinct, noops } = await landedOf(running, account)
  const once = paid === distinct && dense
  const each = (proxy.sends / BURST).toFixed(2)
  const stood =
    sealed < BURST ? `, stands at ${floor} of ${cursor}, holds: ${holds.join(', ') || 'none'}` : ''
  return {
    ok: once && distinct === BURST && sealed === BURST,
    says: `${distinct} of ${BURST} landed ${once ? 'once each, dense' : 'NOT once each'}, ${noops} no-ops, ${each} sends each, ${proxy.requests} requests, ${took}${stood}`,
  }
}

const seconds = (startMs: number): string => `${((systemClock.now() - startMs) / 1_000).toFixed(1)} s`

/** A pool that drops most of what it answers with a hash. */
const SMALL_POOL = [
  ...['--dev.period', '1', '--txpool.globalslots', '64', '--txpool.globalqueue', '16'],
  ...['--txpool.accountslots', '4', '--txpool.accountqueue', '8'],
]

export const scenarios: readonly Scenario[] = [
  quick('quick start, anvil', 'anvil'),
  quick('quick start, hardhat', 'hardhat'),
  quick('quick start, ganache', 'ganache'),
  quick('quick start, geth --dev', 'geth'),
  thousand('burst, anvil', 'anvil', [], 120_000),
  thousand('burst, hardhat', 'hardhat', [], 240_000),
  thousand('burst, geth --dev', 'geth', [], 180_000),
  thousand('burst, geth with a small pool', 'geth', SMALL_POOL, 400_000),
]

/** One line. `left out` where the node cannot be had. */
export async function runScenario(scenario: Scenario): Promise<Held & { readonly leftOut: boolean }> {
  let command: NodeCommand
  try {
    command = await findNode(scenario.node)
  } catch (error) {
    return { ok: false, leftOut: true, says: `left out: ${firstLine(error)}` }
  }
  try {
    return { ...(await scenario.run(command)), leftOut: false }
  } catch (error) {
    return { ok: false, leftOut: false, says: firstLine(error) }
  }
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.split('\n')[0] ?? text
}
