import { anvil } from './anvil.js'
import type { NodeDescription } from './description.js'
import { ganache } from './ganache.js'
import { geth, gethNoLocals } from './geth.js'
import { hardhat, hardhatAutomine } from './hardhat.js'

export const nodes: readonly NodeDescription[] = [
  anvil,
  hardhat,
  hardhatAutomine,
  ganache,
  geth,
  gethNoLocals,
]
