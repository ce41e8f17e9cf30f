import type { Scenario } from '../types.js'
import {
  answered,
  arrived,
  burst,
  DEARER,
  REVERTED,
  SEND,
  strictNonces,
  TOO_CHEAP,
  TRANSFER,
} from './parts.js'

const sendsAfterFailure: Scenario = {
  name: 'sends-after-failure',
  about: 'An estimate of a burst fails, and three dearer payments follow before the burst is in a block.',
  seenIn: [{ where: 'wevm/viem#4634' }],
  refusalsMax: 1,
  async run(stage) {
    const { world, pay } = stage
    await world.hold()
    world.faults.inject({ ...REVERTED, fault: 'rpcError', method: 'eth_estimateGas', skip: 3, count: 1 })
    const first = burst(stage, 6)
    await arrived(world, 5)
    await Promise.race([answered(first), world.ticks(20)])
    const later = [pay(DEARER), pay(DEARER), pay(DEARER)]
    await Promise.race([answered(later), world.ticks(20)])
  },
}

// More than the 7 s for which MUD retries.
const RETRIES_TICKS = 220

const slowBlocks: Scenario = {
  name: 'slow-blocks',
  about: 'An estimate fails because blocks take longer than a sender keeps retrying.',
  seenIn: [{ where: 'latticexyz/mud#2676' }, { where: 'latticexyz/mud#3180' }],
  refusalsMax: 1,
  async run(stage) {
    await stage.world.hold()
    stage.world.faults.inject({
      ...REVERTED,
      fault: 'rpcError',
      method: 'eth_estimateGas',
      skip: 3,
      count: 1,
    })
    await Promise.race([answered(burst(stage, 5)), stage.world.ticks(RETRIES_TICKS)])
  },
}

const evicted: Scenario = {
  name: 'evicted',
  about: 'Ten payments wait in the pool, and the pool loses the first.',
  seenIn: [
    { where: 'foundry-rs/foundry#3780', notAPackage: true },
    { where: 'status-im/status-web#1314', notAPackage: true },
  ],
  async run(stage) {
    const { world } = stage
    await world.hold()
    await answered(burst(stage, 10))
    const head = (await world.pooled()).find(({ nonce }) => nonce === world.firstNonce)
    if (head !== undefined) await world.devnet.evict(head.hash)
  },
}

const pricedOut: Scenario = {
  name: 'priced-out',
  about:
    'The first of five payments offers less than the base fee has become, and the others wait behind it.',
  seenIn: [{ where: 'succinctlabs/op-succinct#979', notAPackage: true }],
  async run(stage) {
    const cheap = stage.pay({ ...TRANSFER, ...TOO_CHEAP })
    await cheap.sent
    await answered(burst(stage, 4, TRANSFER))
  },
}

const counterAbove: Scenario = {
  name: 'counter-above',
  about:
    'A payment never gets through, and the node takes only the very next nonce: a counter that went on is too high for good.',
  seenIn: [
    { where: 'OpenZeppelin/openzeppelin-relayer#818', notAPackage: true },
    { where: 'OpenZeppelin/openzeppelin-relayer#843', notAPackage: true },
  ],
  refusalsMax: 1,
  async run({ world, pay }) {
    const { firstNonce } = world
    const match = ({ nonce }: { nonce?: number }) => nonce === firstNonce
    const lost = world.faults.inject({ fault: 'lostRequest', method: SEND, count: 1, match })
    world.faults.inject(strictNonces(firstNonce, lost))
    const first = pay()
    await Promise.race([first.sent, world.ticks(100)])
    for (let made = 0; made < 3; made += 1) await pay().sent
  },
}

export const pools: readonly Scenario[] = [slowBlocks, sendsAfterFailure, evicted, pricedOut, counterAbove]
