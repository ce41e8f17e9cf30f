import type { ClientCorpus } from './corpus.fixture.js'
import { erigon } from './erigon.fixture.js'
import { avalanche, celo, openethereum } from './forks.fixture.js'
import { geth, opGeth } from './geth.fixture.js'
import { ethereumjs, ganache } from './javascript.fixture.js'
import { besu, linea } from './jvm.fixture.js'
import { anvil, hardhat } from './local.fixture.js'
import { nethermind, nethermindOld } from './nethermind.fixture.js'
import { base, opReth, reth } from './reth.fixture.js'
import { arbitrumClassic, metis, nitro, zkevm, zksync } from './rollups.fixture.js'
import { seen } from './seen.fixture.js'

/** The clients for which the table must know every reason that they can give. */
export const CLIENTS: readonly ClientCorpus[] = [
  geth,
  opGeth,
  reth,
  opReth,
  base,
  nethermind,
  nethermindOld,
  besu,
  erigon,
  nitro,
  arbitrumClassic,
  zksync,
  anvil,
  hardhat,
  ganache,
  ethereumjs,
  openethereum,
  avalanche,
  zkevm,
  metis,
  celo,
]

export const ALL: readonly ClientCorpus[] = [...CLIENTS, linea, ...seen]
