//! Command lines that change something and command lines that only read, one per line.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

const CHANGES: &str = r#"
cargo test -p billing
cd app && npm ci
RUST_LOG=debug ./gradlew build
git -C .. commit -m 'x'
sudo docker run --rm x
python3 -m pytest
if true; then cargo test; fi
for a in b c; do npm test; done
while ! cargo build; do sleep 1; done
! cargo build
{ make; }
(cd x && make)
timeout 60 cargo test
timeout -s KILL 60 cargo test
nice -n 5 make
nice make
sudo -u x make
sudo -E make
env -i PATH=/bin make
time -p make
nohup make &
stdbuf -oL make | cat
find . -name x | xargs -n 1 rm
bash -c "npm test"
bash -lc 'cd x && npm test'
sh -euc 'make'
zsh -c "bash -c 'make'"
eval "make all"
ssh -p 22 host 'sudo systemctl restart x'
FOO="a b" npm test
A=$(b c) npm test
docker \⏎ run x
echo "$(make)"
echo `make`
cat x | while read a; do rm $a; done
case $1 in a) make;; esac
f() { make; }
git branch -D x
git branch new
git branch -u origin/x
git clean -fdx
git config user.name ann
git config --global --unset user.name
git bisect start
git stash
git stash pop
git tag v1
git tag -d v1
git worktree add ../x
git remote add x y
git --no-pager commit -m x
git commit -m "$(cat <<'E'⏎it's; a⏎E⏎)"
docker exec -it x sh
docker restart x
docker system prune -f
docker compose -f a.yml up -d
docker-compose up
docker build .
podman --context x run y
podman run x
kubectl -n x delete pod y
gh pr create --fill
gh run rerun 1
deno task build
bazel build //...
meson setup build
xcodebuild -scheme x test
msbuild x.sln
conda install x
pipx install x
pdm install
hatch run test
gcc -o a a.c
gcc-13 a.c
rustc a.rs
javac A.java
vite build
webpack --mode production
next build
ng test
mocha
npx mocha
cypress run
./configure --prefix=/x
python manage.py migrate
python -m build
python3.12 -m pip install x
python scripts/seed.py
.venv/bin/python -m pytest
alembic upgrade head
prisma migrate dev
eslint . --fix
prettier --write .
black src
node --test
node scripts/build.js
apk add x
yum install x
pacman -S x
touch a
echo x | tee a
echo x > f
echo x >> f
cat > f <<'E'⏎x⏎E
cmd 2> errors.txt
sed -i s/a/b/ f
sed -i.bak s/a/b/ f
sed -Ei s/a/b/ f
sed --in-place s/a/b/ f
perl -pi -e s/a/b/ f
perl -i.bak -pe s/a/b/ f
./deploy.sh
scripts/release x
bash deploy.sh
/p/scripts/x.sh
.\build.ps1
npm.cmd test
C:\node\npm.cmd test
Remove-Item -Recurse x
Set-Content a b
New-Item -ItemType File a
Move-Item a b
Copy-Item a b
remove-item x
Get-ChildItem x | Remove-Item
Get-ChildItem | ForEach-Object { Remove-Item $_ }
& "C:\x y\npm.cmd" test
$env:A = "b"; npm test
$x = npm test
pwsh -NoProfile -Command "npm test"
cmd /c "npm test"
find . -name x -delete
find . -exec rm {} \;
tar xzf a.tgz
curl -sSLo a https://x.io
cargo +nightly test
terraform apply
npm audit fix
go test ./...
mvn -q verify
yarn
"#;

const LOOKS: &str = r#"
git status && git log | head
docker ps
podman --context x ps
tofu graph
gradlew.bat -v
mamba list
ls -la; cat a.txt; echo done
grep -rn make src
sed -n 1,3p a
git tag -l
git tag
git tag --sort=-v:refname
git tag -n v1
git branch
git branch -a
git branch --show-current
git branch --contains abc
git config --get user.name
git config user.name
git config --list
git stash list
git stash show -p
git worktree list
git bisect log
git remote -v
git remote
git submodule status
git show restore
git log --grep add
git -C commit log
git diff -- commit
docker compose ps
docker compose -f a.yml logs -f web
docker-compose ps
docker image ls
docker logs run
docker inspect x
gh pr view 1
gh pr list
gh run list
gh issue view 2
npm ls
npm view x
npm --version
npm -v
pnpm list
cargo --version
cargo tree
cargo metadata
cargo test --help
terraform show
helm list
kubectl get pods
kubectl -n x rollout status y
pip list
pip3 show x
brew list
apt list
go version
go env
make -n
git push --dry-run
black --check .
alembic history
eslint .
prettier --check .
echo "first; make coffee"
echo 'a && npm test'
echo make # cargo test
grep -E "foo|rm bar" x
grep "a > b" x
awk '$1 > 3' x
cat <<'E'⏎make; npm test⏎E
cat <<-E⏎	rm x⏎	E
ls > /dev/null
ls 2>&1
ls 2>/dev/null >&2
ls &> /dev/null
ls *> $null
[[ a > b ]] && ls
((a > b)); ls
echo $((a > b))
command -v cargo
which npm
bash -c "ls; cat x"
bash -n deploy.sh
timeout 5 ls
sudo cat x
env
env A=b
FOO=bar
for make in rm mv; do echo $make; done
python -c "import os; print(1)"
python3 - <<'E'⏎import os⏎E
python --version
python manage.py showmigrations
node -e "a => b"
perl -ne 'print if /i/' f
perl -MList::Util -e 1 f
find . -name make
find . -exec grep x {} \;
tar tzf a.tgz
curl -s https://x.io
curl -s -o /dev/null -w 1 https://x.io
/usr/bin/ls
~/.cargo/bin/rg x
\ls
sed -ne 's/i/j/p' f
Get-ChildItem x
Get-Content a | Select-String make
systemctl status x
xargs echo
cd make
rg 'rm' && wc -l x
jq . package.json
"#;

fn lines(table: &str) -> impl Iterator<Item = String> {
    table.lines().filter(|line| !line.is_empty()).map(|line| line.replace('⏎', "\n"))
}

#[test]
fn changing_commands_are_distinguished_from_read_only_ones() {
    let dropped: Vec<String> = lines(CHANGES).filter(|line| !changes_something(line)).collect();
    let kept: Vec<String> = lines(LOOKS).filter(|line| changes_something(line)).collect();
    assert_eq!((dropped, kept), (vec![], vec![]));
}

#[rstest]
#[case::printed("git commit -am fix", "[main 4be19c2] fix\n 1 file changed", Some("4be19c2"))]
#[case::first("git commit -m fix", "[main (root-commit) 4be19c2] fix", Some("4be19c2"))]
#[case::logged("git add a && git commit -qm fix && git log --oneline -1", "4be19c2 fix", Some("4be19c2"))]
#[case::quiet("git commit -qm fix", "", None)]
#[case::word("git commit -qm fix", "decided to wait", None)]
#[case::other_call("git show", "[main 4be19c2] fix", None)]
fn commit_is_named_by_its_hash(#[case] line: &str, #[case] output: &str, #[case] expected: Option<&str>) {
    assert_eq!(made_commit(line, output), expected);
}

#[rstest]
#[case("git revert --no-edit 4be19c2 && cargo test", &["4be19c2"])]
#[case("git revert HEAD", &["HEAD"])]
#[case("git pull --rebase && git revert HEAD", &[])]
#[case("git -C app revert HEAD", &[])]
#[case("git revert --no-commit HEAD", &[])]
#[case("git revert -n 4be19c2 && git commit -m x", &["4be19c2"])]
#[case("git revert 4be19c2; git revert --abort", &[])]
#[case("git log 4be19c2", &[])]
fn reverted_commits_are_found(#[case] line: &str, #[case] expected: &[&str]) {
    assert_eq!(reverted_commits(line), expected);
}

#[test]
fn deep_nesting_terminates() {
    for part in ["eval ", "sudo ", "find -exec ", "python -m ", "bash -c ", "ssh x ", "A=b ", "$x = "] {
        assert!(!changes_something(&part.repeat(20_000)), "{part}");
    }
}

proptest! {
    #[test]
    fn any_text_is_accepted(line in "([a-c \n;&|(){}<>'\"`$\\\\#=E2가-]|git |sudo |bash -c |find -exec |<<E|python -m ){0,60}") {
        changes_something(&line);
    }
}

#[test]
fn each_wrapper_has_a_number_of_operands() {
    let operands = |entry: &str| entry.split(' ').nth(1).and_then(|number| number.parse::<usize>().ok());
    assert!(WRAPPERS.iter().all(|entry| operands(entry).is_some()));
}
