import type { Hash } from 'viem'
import { describe, expect, test } from 'vitest'
import { openProcesses, type Process, type Processes } from '../../api/sender/processes.fixture.js'
import { refuses, type Script, transfer } from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'
import type { Store } from '../../types/store.js'

/** How an endpoint says that it has no block 0. */
const ABSENT: Readonly<Record<string, RpcReply>> = {
  null: { ok: true, result: null },
  'pruned history unavailable': refuses('pruned history unavailable', 4444),
}
const NO_STATE = refuses('missing trie node b10c (path ) state is not available')
const PAYMENTS = [1, 2, 3]

const block0 =
  (reply: RpcReply): Script =>
  ({ method, params: [block] }) =>
    method === 'eth_getBlockByNumber' && block === '0x0' ? reply : undefined

const genesisOf = ({ lane }: Processes) => lane.chain.canonical[0]?.hash as Hash
const chainId = ({ lane }: Processes) => lane.chain.settings.chainId

/** The names that the store keeps of the chain. */
const namesOf = (world: Processes) =>
  world.shared.chains({ chainId: chainId(world), genesisHash: genesisOf(world) })

/** The payments, each under its own id, as a caller asks for them again after a restart. */
async function payAll({ lane }: Processes, { sender }: Process): Promise<void> {
  const txs = PAYMENTS.map((marker) => sender.send(transfer(marker), { id: `pay-${marker}` }))
  for (const tx of await lane.settle(Promise.all(txs))) await lane.settle(tx.wait('sealed'))
}

/** Every life asks for the same payments. Gives back the names that the store keeps of the chain. */
async function twoLives(world: Processes, scripts: readonly (Script | undefined)[]) {
  for (const script of scripts) {
    world.lane.script = script
    const process = world.start()
    await payAll(world, process)
    await world.lane.settle(process.sender.close())
  }
  return namesOf(world)
}

describe.each(Object.keys(ABSENT))('block 0 answered with %s: the same ids run once', (said) => {
  const absent = block0(ABSENT[said] as RpcReply)

  test.each<[string, readonly (Script | undefined)[]]>([
    ['while a process starts again', [undefined, absent]],
    ['at the first start, and not afterwards', [absent, undefined]],
    ['for one start between two others', [undefined, absent, undefined]],
    ['always, as by a node that has pruned it', [absent, absent, absent]],
  ])('%s', async (_, scripts) => {
    await using world = await openProcesses()
    expect(await twoLives(world, scripts)).toHaveLength(1)
    expect(world.lane.executed()).toEqual(PAYMENTS)
  })

  test('to one of two processes that start at once', async () => {
    for (const first of [0, 1]) {
      await using world = await openProcesses()
      const { lane } = world
      let asked = 0
      const answer: Script = (call, tx) =>
        call.params[0] === '0x0' && asked++ % 2 === first ? absent(call, tx) : undefined
      lane.script = answer
      const [one, other] = [world.start(), world.start()]
      await lane.settle(Promise.all([one.sender.ready(), other.sender.ready()]))
      await Promise.all([payAll(world, one), payAll(world, other)])
      expect(await namesOf(world)).toHaveLength(1)
      expect(lane.executed()).toEqual(PAYMENTS)
    }
  })
})

test('a missing state proves nothing about block 0: the lane opens once block 0 is shown', async () => {
  await using world = await openProcesses()
  world.lane.script = block0(NO_STATE)
  const { sender } = world.start()
  const error = await world.lane.rejection(sender.ready())
  expect(error).toMatchObject({ code: 'UNREACHABLE', fate: 'notExecuted' })
  expect(error.message).toContain('missing trie node')
  world.lane.script = undefined
  await world.lane.settle(sender.ready())
})

/** The store keeps these chains with the id of this world's chain. */
async function keeps(store: Store, id: number, hashes: readonly Hash[]): Promise<void> {
  for (const genesisHash of hashes) {
    const lease = await store.acquire({ chainId: id, genesisHash, address: '0xaa' }, 'former', 1_000)
    if (lease) await store.release(lease)
  }
}

const OTHER: Hash = `0x${'7'.repeat(64)}`

test('if the store has two chains with the id, the lane opens once block 0 is shown, and rejects with the reason until then', async () => {
  await using world = await openProcesses()
  await keeps(world.shared, chainId(world), [OTHER, genesisOf(world)])
  world.lane.script = block0({ ok: true, result: null })
  const { sender } = world.start()
  const error = await world.lane.rejection(sender.send(transfer(1)))
  expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
  expect(error.message).toContain('No endpoint shows block 0 now, and the store keeps 2 chains with the id')
  expect(error.message).toContain(OTHER)
  world.lane.script = undefined
  const tx = await world.lane.settle(sender.send(transfer(1)))
  await world.lane.settle(tx.wait('sealed'))
  expect(world.lane.executed()).toEqual([1])
})

test('a chain with another block 0 than the stored one has its own lanes', async () => {
  await using world = await openProcesses()
  await keeps(world.shared, chainId(world), [OTHER])
  const kept = await twoLives(world, [undefined])
  expect(kept).toEqual([OTHER, genesisOf(world)])
})

test('the stored name is compared with block 0 when an endpoint shows it after an outage', async () => {
  for (const kept of ['the same', 'another'] as const) {
    await using world = await openProcesses()
    const { lane } = world
    const isSame = kept === 'the same'
    await keeps(world.shared, chainId(world), [isSame ? genesisOf(world) : OTHER])
    lane.script = block0({ ok: true, result: null })
    const process = world.start()
    await lane.settle(process.sender.ready())
    await lane.settle(process.sender.send(transfer(1)))
    process.nodeIs(false)
    // Not as long as a lease lasts: after that the lane is free for others.
    await lane.clock.advance(3_000)
    lane.script = undefined
    process.nodeIs(true)
    await lane.clock.advance(20_000)
    const changes = process.events('endpoint').map(({ change }) => change)
    expect(changes.includes('wrongChain'), kept).toBe(!isSame)
    // For the close.
    lane.script = block0({ ok: true, result: null })
  }
})
