import { createClient, http, type LocalAccount } from 'viem'
import { createSender, type Limits, memoryStore, type Sender, type Store } from '../../src/index.js'
import { nativeAccount } from '../../src/signer/index.js'
import { givenTransfer, transfer } from '../support/node.js'
import { type Driver, type Subject, sendInParts, type World } from './types.js'

export type OpenOptions = {
  readonly account?: LocalAccount
  readonly store?: Store
  readonly limits?: Partial<Limits>
}

/** A typical sender: native account, memory store, default limits. */
export function openSender(
  { url, chain, privateKey }: Pick<World, 'url' | 'chain' | 'privateKey'>,
  { account = nativeAccount(privateKey), store = memoryStore(), limits = {} }: OpenOptions = {},
): Sender {
  const client = createClient({ account, chain, transport: http(url, { retryCount: 0 }) })
  return createSender({ client, store, lossDepth: 'child', limits }) as unknown as Sender
}

function txlane(name: string, given: Subject['given'], limits: Partial<Limits> = {}): Subject {
  const request = given === 'nothing' ? transfer : givenTransfer
  return {
    name,
    given,
    open(world): Driver {
      const sender = openSender(world, { limits })
      return {
        ready: () => sender.ready(),
        async burst(count) {
          await Promise.all(Array.from({ length: count }, (_, index) => sender.send(request(index + 1))))
        },
        burstInParts: (count) => sendInParts(count, (number) => sender.send(request(number))),
        close: () => sender.close(),
      }
    },
  }
}

export const txlaneDefault = txlane('txlane', 'nothing')
export const txlaneGiven = txlane('txlane', 'gasAndFees')
/** For bursts of known size: the window need not grow first. */
export const txlaneWide = txlane('txlane, window 2,048', 'gasAndFees', { window: 2_048 })
