// Fails if the public surface changes without a changeset: node scripts/apiChangeset.mjs BASE.
import { execFileSync } from 'node:child_process'

const [base] = process.argv.slice(2)
const changed = execFileSync('git', ['diff', '--name-only', `${base}...HEAD`], { encoding: 'utf8' }).split(
  '\n',
)
if (changed.includes('etc/api.txt') && !changed.some((file) => /^\.changeset\/.+\.md$/.test(file))) {
  console.error('etc/api.txt changed, and no changeset was added: npx changeset')
  process.exitCode = 1
}
