import { isSettled } from '../asks.js'
import type { Scenario } from '../types.js'

// A poll takes a sender up to seven calls: one poll is running when the block appears, the next one sees it,
// and the third has its answer.
const LOOKS = 24

const seenLate: Scenario = {
  name: 'seen-late',
  about: 'A payment is in a pre-confirmed block; its caller is notified only when the block is sealed.',
  seenIn: [{ where: 'bcnmy/bundler#602' }, { where: 'foundry-rs/foundry#13290', notAPackage: true }],
  async run({ world, pay, find }) {
    await world.hold()
    const sent = await pay().sent
    const early = sent?.wait('preconfirmed')
    early?.catch(() => undefined)
    await world.ticks(2)
    await world.devnet.stepFlashblock()
    const shown = world.calls()
    await world.until(async () => (early && (await isSettled(early))) || world.calls() - shown > LOOKS)
    if (early === undefined || !(await isSettled(early))) find('seen a block late')
  },
}

const reorged: Scenario = {
  name: 'reorged',
  about:
    'A payment is in a block, its caller is notified, and a reorg removes the block without restoring it.',
  seenIn: [
    { where: 'liquity/dev#26', notAPackage: true },
    { where: 'ethereum/mist#540', notAPackage: true },
  ],
  async run({ world, pay }) {
    await world.hold()
    const first = pay()
    await first.sent
    await world.devnet.seal()
    await Promise.race([first.ended, world.ticks(50)])
    await world.devnet.reorg(1, { returnToPool: false })
    world.release()
    await world.ticks(20)
    await pay().sent
  },
}

const countFails: Scenario = {
  name: 'count-fails',
  cold: true,
  about:
    'The first question for the count of the account fails; three payments are made one after the other.',
  seenIn: [{ where: 'ethers-io/ethers.js src.ts/providers/signer-noncemanager.ts' }],
  refusalsMax: 1,
  async run({ world, pay }) {
    world.faults.inject({ fault: 'rpcError', method: 'eth_getTransactionCount', count: 1 })
    for (let made = 0; made < 3; made += 1) await pay().sent
  },
}

export const chain: readonly Scenario[] = [seenLate, reorged, countFails]
