import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import { swallow, transfer } from '../../api/sender/simLane.fixture.js'
import { authorizing, DELEGATE, OTHER, OTHER_KEY, own } from './authorize.fixture.js'

describe('a lane that moves to another process', () => {
  const LEASE_MS = 10_000

  test('the new leader resends the same bytes, and keeps the nonces of the tuples reserved', async () => {
    await using world = await openProcesses({ chain: { rules: 'reth' } })
    const { lane } = world
    const [first, second] = await world.pair()
    lane.script = swallow(1)
    const tx = await lane.settle(first.sender.send(authorizing(1)))
    const next = await lane.settle(second.sender.send(transfer(2), { until: 'queued' }))
    first.freeze()
    await lane.clock.advance(LEASE_MS + 5_000)
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({
      holder: true,
      cursor: 2,
      holds: ['authorizing'],
    })
    lane.script = undefined
    await lane.settle(next.wait())
    expect(next.nonce).toBe(2)
    expect(second.events('foreign')).toEqual([])
    const carriers = lane.sent.filter(({ authorizations }) => authorizations > 0)
    expect(new Set(carriers.map(({ nonce }) => nonce))).toEqual(new Set([0]))
    first.thaw()
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual([1, 2])
  })

  test('a standby can send them: the leader signs for the account of the lane, the standby for other accounts', async () => {
    await using world = await openProcesses({ chain: { rules: 'reth' } })
    const { lane } = world
    const [, standby] = await world.pair()
    const both = [own, { contractAddress: DELEGATE, account: OTHER }]
    const tx = await lane.settle(standby.sender.send(authorizing(1, both)))
    await lane.settle(tx.wait())
    expect(lane.sent[0]).toMatchObject({ type: 'eip7702', authorizations: 1 })
    const stored = await world.shared.find(
      { chainId: 8453, genesisHash: lane.chain.canonical[0]?.hash as Hex },
      { id: tx.id },
    )
    expect(stored?.request.authorize).toEqual([
      own,
      {
        contractAddress: DELEGATE,
        account: { address: OTHER.address },
        signed: expect.objectContaining({ address: DELEGATE, chainId: 8453, nonce: 0 }),
      },
    ])
    expect(
      JSON.stringify(stored?.request, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    ).not.toContain(OTHER_KEY)
  })

  test('a transaction that was queued at a restart keeps the tuples that other accounts signed', async () => {
    await using world = await openProcesses({ chain: { rules: 'reth' } })
    const { lane } = world
    const first = world.start()
    await lane.settle(first.sender.ready())
    first.sender.pause()
    const request = authorizing(1, [{ contractAddress: DELEGATE, account: OTHER }, own])
    await lane.settle(first.sender.send(request, { id: 'a', until: 'queued' }))
    await lane.settle(first.sender.close())
    const second = world.start()
    await lane.settle(second.sender.ready())
    const tx = await lane.settle(second.sender.get('a'))
    await lane.settle(tx?.wait() as Promise<unknown>)
    expect(lane.sent[0]).toMatchObject({ nonce: 0, authorizations: 1 })
    await lane.settle(second.sender.drain())
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({ floor: 2, cursor: 2 })
  })
})
