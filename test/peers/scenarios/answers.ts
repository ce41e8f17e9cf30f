import type { Scenario } from '../types.js'
import { answered, behindGateway, DEARER, SEND, TRANSFER } from './parts.js'

const lostAnswer: Scenario = {
  name: 'lost-answer',
  about: 'The node takes a payment and its answer is lost; a dearer payment follows before the next block.',
  seenIn: [{ where: 'okx/xlayer-reth#256' }],
  async run({ world, pay }) {
    await world.hold()
    world.faults.inject({ fault: 'lostResponse', method: SEND, count: 1 })
    await pay().sent
    await world.ticks(2)
    await pay(DEARER).sent
  },
}

const recycledNonce: Scenario = {
  name: 'recycled-nonce',
  about:
    'A sender looks at the chain again while a payment is on its way, and the connection breaks in its answer.',
  seenIn: [
    { where: 'thirdweb-dev/engine#597', notAPackage: true },
    { where: 'thirdweb-dev/engine#595', notAPackage: true },
  ],
  async run({ world, pay, driver }) {
    await world.hold()
    const once = { method: SEND, count: 1 }
    const slow = world.faults.inject({ ...once, fault: 'delay', delayMs: 100 })
    world.faults.inject({ ...once, fault: 'dropConnection' })
    const first = pay()
    await world.until(() => slow.hits > 0)
    await driver.resync?.()
    await first.sent
    await world.ticks(2)
    await answered([pay(DEARER), pay(DEARER)])
  },
}

const alreadyKnown: Scenario = {
  name: 'already-known',
  about: 'A gateway before the node sends a payment twice, and the sender gets "already known".',
  seenIn: [
    { where: 'ethereum/execution-apis#245' },
    { where: 'MetaMask/metamask-extension#3669', notAPackage: true },
  ],
  async run({ world, pay }) {
    await world.hold()
    const first = pay()
    await behindGateway(world, 'already known')
    await first.sent
  },
}

const paidAgain: Scenario = {
  name: 'paid-again',
  about: 'The answer to a payment is lost, and its caller, after an error, makes it again.',
  seenIn: [{ where: 'sammy007/open-ethereum-pool#216', notAPackage: true }],
  async run({ world, pay, payAgain }) {
    world.faults.inject({ fault: 'lostResponse', method: SEND, count: 1 })
    const first = pay()
    await first.sent
    if (first.reported().kind === 'refused') {
      await world.until(async () => (await world.pooled()).length === 0)
      payAgain(first)
    }
  },
}

const minedMeanwhile: Scenario = {
  name: 'mined-meanwhile',
  about:
    'A gateway sends a payment twice, the first is in a block by then, and the sender gets "nonce too low".',
  seenIn: [
    { where: 'pimlicolabs/alto#747', notAPackage: true },
    { where: 'OpenZeppelin/openzeppelin-relayer#681', notAPackage: true },
  ],
  async run({ world, pay }) {
    await world.hold()
    const first = pay()
    await behindGateway(
      world,
      `nonce too low: next nonce ${world.firstNonce + 1}, tx nonce ${world.firstNonce}`,
    )
    await world.devnet.seal()
    world.release()
    await first.sent
  },
}

const hashForNothing: Scenario = {
  name: 'hash-for-nothing',
  about: 'Of five payments the node answers the second with its hash and forgets it.',
  seenIn: [
    { where: 'smartcontractkit/chainlink-starknet#646', notAPackage: true },
    { where: 'BoltzExchange/boltz-backend#1201', notAPackage: true },
  ],
  async run({ world, pay }) {
    world.faults.inject({ fault: 'neverPooled', skip: 1, count: 1 })
    for (let made = 0; made < 5; made += 1) await pay(TRANSFER).sent
  },
}

const replacementTooLate: Scenario = {
  name: 'replacement-too-late',
  about:
    'A payment is sped up, and lands before its replacement arrives, which is refused with "nonce too low".',
  seenIn: [{ where: 'pimlicolabs/alto#747', notAPackage: true }],
  needs: 'speedUp',
  async run({ world, pay }) {
    await world.hold()
    const sent = await pay().sent
    const late = world.faults.inject({ fault: 'delay', delayMs: 100, method: SEND, count: 1 })
    const faster = sent?.speedUp?.().catch(() => undefined)
    await world.until(() => late.hits > 0)
    await world.devnet.seal()
    world.release()
    await faster
    await answered([pay()])
  },
}

export const answers: readonly Scenario[] = [
  lostAnswer,
  recycledNonce,
  alreadyKnown,
  paidAgain,
  minedMeanwhile,
  hashForNothing,
  replacementTooLate,
]
