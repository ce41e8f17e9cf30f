import type { Client } from 'viem'
import type { Port } from '../../src/rpc/port.js'
import { createShared, type Environment } from '../../src/sender/environment.js'
import { createSenderIn } from '../../src/sender/sender.js'
import { memoryStore } from '../../src/store/memory.js'
import { createSimClient } from './simClient.js'
import type { CreateSubject } from './subjectTypes.js'

/** The world's port, which outlives a sender that closes its own ports and opens others. */
function keptOpen(port: Port): Port {
  return {
    name: port.name,
    kind: port.kind,
    batch: port.batch,
    get stats() {
      return port.stats
    },
    close() {},
  }
}

/** The sender under test: the one place where it is wired to the simulated world. */
export const createSubject: CreateSubject = (world) => {
  const environment: Environment = {
    clock: world.clock,
    random: world.random,
    portsOf: () => world.ports.map((entry) => ({ ...entry, port: keptOpen(entry.port) })),
    shared: createShared(),
  }
  const client = createSimClient({ port: world.port, chainId: world.chainId, account: world.account })
  return createSenderIn(environment, {
    client: client as unknown as Client as never,
    store: memoryStore(),
    lossDepth: world.lossDepth,
  })
}
