import { padHex, toHex } from 'viem'
import type { Payment, Scenario, World } from '../types.js'
import { answered, burst, DEARER, SEND } from './parts.js'

// The number of viem's requests until it has the transaction itself; before that it does not notice a
// replacement.
const LOOKS = 4

const foreignNonce: Scenario = {
  name: 'foreign-nonce',
  about: 'In the middle of ten payments another wallet with the same key takes a nonce.',
  seenIn: [{ where: 'NomicFoundation/hardhat#8092' }, { where: 'ethers-io/ethers.js#2386' }],
  async run(stage) {
    const { world } = stage
    await answered(burst(stage, 5))
    await world.hold()
    world.faults.inject({ fault: 'foreign', method: SEND, count: 1 })
    const rest = burst(stage, 5)
    await Promise.race([answered(rest), world.ticks(20)])
    world.release()
    await answered(rest)
  },
}

const otherReceipt: Scenario = {
  name: 'other-receipt',
  about: 'Another wallet with the same key outbids a payment that its caller waits for.',
  seenIn: [{ where: 'wevm/viem#3982' }, { where: 'ethers-io/ethers.js#4875' }],
  async run({ world, pay }) {
    await world.hold()
    const paid = pay()
    await paid.sent
    const sent = world.calls()
    await world.ticks(5)
    await world.until(() => world.calls() - sent >= LOOKS)
    await world.devnet.foreign({ account: world.account, nonce: world.firstNonce })
    // No further block before its caller is notified: some senders search for the other transaction only in
    // the newest block, and miss blocks that come meanwhile.
    await world.devnet.seal()
    await Promise.race([paid.ended, world.ticks(20)])
  },
}

const twoClients: Scenario = {
  name: 'two-clients',
  about: 'Two clients of one process share a key that has never sent: three payments each at once.',
  seenIn: [
    { where: 'thirdweb-dev/engine#597', notAPackage: true },
    { where: 'xmtp/xmtpd#1420', notAPackage: true },
  ],
  nonce: 0,
  async run(stage) {
    const by = stage.open()
    await answered([...burst(stage, 3), ...burst(stage, 3, { by })])
  },
}

const staleReplica: Scenario = {
  name: 'stale-replica',
  cold: true,
  about:
    'A sender starts right after another process has sent, and a replica answers its first count from before.',
  seenIn: [
    { where: 'cowprotocol/services#64', notAPackage: true },
    { where: 'foundry-rs/foundry#9095', notAPackage: true },
  ],
  async prepare(world) {
    await world.ticks(4)
    await world.hold()
    const made = await Promise.all([0, 1, 2].map((index) => fromOtherProcess(world, index)))
    await world.devnet.seal()
    world.faults.inject({ fault: 'laggingReplica', blocks: 1, method: 'eth_getTransactionCount', count: 2 })
    return made
  },
  async run(stage) {
    stage.world.release()
    await answered(burst(stage, 3))
  },
}

const restart: Scenario = {
  name: 'restart',
  cold: true,
  about:
    'A process ends with a payment in the mempool, which `pending` does not count, and the next one makes a dearer one.',
  seenIn: [
    { where: 'graphprotocol/mission-control-indexer#268', notAPackage: true },
    { where: 'foundry-rs/foundry#12683', notAPackage: true },
  ],
  async prepare(world) {
    await world.hold()
    const made = [await fromOtherProcess(world, 0)]
    await world.ticks(1)
    return made
  },
  async run({ world, pay }) {
    const next = pay(DEARER)
    await Promise.race([next.sent, world.ticks(20)])
  },
}

/** A payment by another process that has the key and shares no state with the sender. */
async function fromOtherProcess(world: World, index: number): Promise<Payment> {
  const { account, devnet, firstNonce } = world
  const payment = { to: padHex(toHex(0xfe_0000 + index), { size: 20 }), value: 1n }
  const serializedTransaction = await account.signTransaction({
    ...payment,
    type: 'eip1559',
    chainId: world.chain.id,
    nonce: firstNonce + index,
    gas: 21_000n,
    maxFeePerGas: 2_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  })
  await devnet.client().sendRawTransaction({ serializedTransaction })
  return payment
}

export const strangers: readonly Scenario[] = [foreignNonce, otherReceipt, twoClients, staleReplica, restart]
