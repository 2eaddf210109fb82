//! Tables of programs: which ones change something, and with which arguments. An entry is a program, a space, and what the
//! table says about it.

use crate::model::word_list::WordList;

/// Programs that work like another program, and the name of that program in the other tables.
pub(super) static ALIASES: WordList = WordList::phrases(
    "gradlew gradle|mamba conda|micromamba conda|mvnw mvn|nerdctl docker|podman docker|tofu terraform",
);

/// Programs that build, test, install, deploy or change files, with any arguments except those in [`READ_ONLY_WITH`].
pub(super) static CHANGING: WordList = WordList::words(
    "add-content alembic ansible-playbook ant apk apt apt-get asdf autoconf automake autoreconf ava babel bats bazel \
     bazelisk behave black brew buck2 build bun bundle bunx c++ cabal cargo carthage cc cdk changeset chgrp chmod \
     choco chown clang clang++ clear-content cmake composer compress-archive conan conda configure copy copy-item \
     corepack cp createdb cross ctest cypress dart dbmate dd del deno diesel dnf docker-compose dotnet dpkg dropdb \
     dune erase esbuild expand-archive fastlane flatpak flutter flyctl flyway fvm g++ gcc gem ghc gleam go goose \
     gradle grunt gulp gunzip gzip hatch helm install install-module install-package invoke-build invoke-pester isort \
     javac jest just k6 karma kotlinc ld lein lerna liquibase ln mage make maturin md meson mill mise mix mkdir mkfs \
     mklink mocha mount move move-item msbuild msiexec mv mvn mypy netlify new-item nextest ni nimble ninja nix-env \
     nixos-rebuild nox npm npx nvm nx opam out-file packer pacman parcel patch pdm pg_restore phpunit pip pipenv pipx \
     pixi playwright pnpm pod poetry port pre-commit protoc pub pulumi pytest pytest-watch rails rake rd rebar3 \
     remove-item ren rename-item restart-service ri rm rmdir rni robocopy rollup rspec rsync ruff rustc rustfmt rustup \
     rye sbt scalac scons scoop scp semantic-release serverless set-content set-item set-itemproperty setfacl shards \
     shred skaffold snap sqlx standard-version start-service stop-service svelte-check swc swift swiftc task tee \
     terraform tilt touch tox truncate trunk tsc tsup turbo twine umount unittest unlink unzip useradd uv uvx vagrant \
     vcpkg venv vercel vitest volta wasm-pack wdio webpack wget winget wrangler xcodebuild xcopy yarn yum zig zip \
     zypper",
);

/// Programs that change something only with one of these arguments: subcommands of one or two words, or options
/// anywhere, separated by commas.
pub(super) static CHANGING_WITH: WordList = WordList::phrases(
    "astro build,check,sync|awk inplace|aws cloudformation deploy,s3 cp,s3 mv,s3 rm,s3 sync|biome --apply,--write,ci|\
     clang-format -i|coverage html,run,xml|crontab -,-e,-r|curl --output,--remote-name|docker attach,build,builder,\
     buildx,commit,compose,config,container,context,cp,create,exec,image,import,kill,load,login,logout,network,pause,\
     plugin,pull,push,rename,restart,rm,rmi,run,save,secret,service,stack,start,stop,swarm,system,tag,unpause,update,\
     volume|drizzle-kit drop,generate,migrate,push|eas build,submit,update|eslint --fix|expo install,prebuild,run|\
     find -delete|firebase deploy,init|fly deploy,launch,scale,secrets|gawk inplace|gcloud deploy|gh auth,cache,\
     codespace,gist,issue,label,pr,release,repo,run,secret,variable,workflow|git add,am,apply,bisect,branch,checkout,\
     cherry-pick,clean,clone,commit,config,fetch,filter-branch,filter-repo,gc,init,lfs,maintenance,merge,mv,notes,\
     prune,pull,push,rebase,reflog delete,reflog expire,remote,replace,reset,restore,revert,rm,sparse-checkout,stash,\
     submodule,subtree,switch,tag,update-index,update-ref,worktree|glab ci,issue,mr,release,repo,variable|gofmt -w|\
     gofumpt -w|goimports -w|heroku config:set,create,restart,run|hg add,backout,commit,graft,import,init,merge,pull,\
     push,rebase,remove,revert,shelve,strip,update|invoke-webrequest -outfile|iwr -outfile|jj abandon,bookmark,commit,\
     describe,edit,git,new,rebase,restore,split,squash,undo|knex migrate:down,migrate:latest,migrate:make,\
     migrate:rollback,migrate:up,seed:run|kubectl annotate,apply,autoscale,cordon,cp,create,debug,delete,drain,edit,\
     exec,expose,label,patch,replace,rollout,run,scale,set,taint,uncordon|launchctl bootout,bootstrap,disable,enable,\
     kickstart,load,remove,start,stop,unload|manage.py collectstatic,compilemessages,createsuperuser,dumpdata,flush,\
     loaddata,makemessages,makemigrations,migrate,startapp,test|next build,lint|ng add,build,deploy,e2e,generate,lint,\
     new,test,update|nix build,develop,flake,flake update,profile,run|node --test|nuxt build,generate,prepare|\
     prettier --write,-w|prisma db,generate,migrate|react-scripts build,test|rubocop --autocorrect,--autocorrect-all,\
     -A,-a|sequelize db:migrate,db:seed,db:seed:all|shfmt -w|sort -o|storybook build|stylelint --fix|supabase db,\
     functions,init,link,migration,start,stop|svelte-kit sync|svn add,checkout,commit,copy,delete,merge,mkdir,move,\
     revert,switch,update|systemctl daemon-reload,disable,enable,kill,mask,reload,restart,set-property,start,stop,\
     unmask|typeorm migration:generate,migration:revert,migration:run,schema:sync|vite build|vue-cli-service build,lint",
);

/// Arguments that make a program read-only. They take precedence over the tables above. `$` means that nothing may follow.
pub(super) static READ_ONLY_WITH: WordList = WordList::phrases(
    "alembic branches,current,heads,history,show|apk info,list,policy,search|apt depends,list,policy,rdepends,search,\
     show|apt-get changelog,check|asdf current,list,plugin list,where,which|bazel aquery,cquery,info,query,version|\
     black --check,--diff|brew --prefix,config,deps,desc,doctor,home,info,leaves,list,ls,outdated,search,uses|bun -v$,\
     outdated,pm ls|bundle info,list,outdated,platform,show|cargo --list,-V$,help,info,locate-project,metadata,pkgid,\
     read-manifest,search,tree,verify-project,version|choco info,list,search|composer depends,diagnose,info,licenses,\
     outdated,search,show,why|conda config --show,env list,info,list,search|deno doc,info,lsp|dnf info,list,repolist,\
     repoquery,search|docker buildx du,buildx inspect,buildx ls,buildx version,compose config,compose images,\
     compose logs,compose ls,compose port,compose ps,compose top,compose version,config inspect,config ls,\
     container diff,container inspect,container list,container logs,container ls,container port,container ps,\
     container stats,container top,context inspect,context ls,context show,image history,image inspect,image list,\
     image ls,network inspect,network list,network ls,plugin inspect,plugin ls,secret inspect,secret ls,\
     service inspect,service logs,service ls,service ps,stack ls,stack ps,stack services,system df,system events,\
     system info,volume inspect,volume list,volume ls|docker-compose config,images,logs,ls,port,ps,top,version|\
     dotnet --info,--list-runtimes,--list-sdks,list|dpkg --list,--listfiles,--status,-L,-S,-l,-s|eas build:list|\
     flutter devices,doctor|gem contents,env,environment,info,list,search,which|gh auth status,cache list,gist list,\
     gist view,issue list,issue status,issue view,label list,pr checks,pr diff,pr list,pr status,pr view,release list,\
     release view,repo list,repo view,run list,run view,run watch,secret list,variable get,variable list,workflow list,\
     workflow view|git apply --check,apply --stat,bisect log,bisect view,bisect visualize,lfs ls-files,lfs status,\
     notes list,notes show,notes$,remote -v,remote get-url,remote show,remote$,sparse-checkout list,stash list,\
     stash show,submodule status,submodule summary,submodule$,worktree list|glab ci list,ci status,ci view,issue list,\
     issue view,mr diff,mr list,mr view,release list,repo view|go doc,env,help,list,version|gradle -v$,dependencies,\
     projects,properties,tasks|helm env,get,history,list,ls,repo list,search,show,status,template,version|\
     isort --check,--check-only,--diff|jest --listTests,--showConfig|jj bookmark list,git remote list|just --evaluate,\
     --list,--show,--summary,-l|kubectl rollout history,rollout status|make --just-print,-n,-p,-q|mise current,list,ls,\
     ls-remote,where,which|mount $|mvn -v$,dependency:tree,help:effective-pom|ninja -n,-t|nix flake metadata,\
     flake show|nox --list,-l|npm -v$,audit$,bin,config get,config list,config ls,docs,explain,fund$,help,info,la,\
     licenses,list,ll,ls,outdated,ping,prefix,query,repo,root,search,show,v,view,whoami,why|nvm current,list,ls,\
     ls-remote,which|opam list,show|pacman -Q,-Qi,-Ql,-Qo,-Qs,-Si,-Ss|pdm info,list,show|php artisan about,\
     artisan help,artisan list,artisan route:list|pip -V$,cache info,cache list,check,config get,config list,debug,\
     freeze,index,inspect,list,show|pipenv graph|pipx list|pixi info,list,tree|playwright show-report,show-trace|\
     pnpm -v$,audit$,bin,config get,config list,config ls,docs,explain,fund$,help,info,la,licenses,list,ll,ls,outdated,\
     ping,prefix,query,repo,root,search,show,v,view,whoami,why|pod list,search|poetry about,check,config --list,\
     env info,env list,search,show|prisma migrate status,validate,version|pulumi about,logs,stack ls,stack output,\
     whoami|pytest --co,--collect-only,--fixtures|rails about,notes,routes,stats|rake --tasks,-T|rsync -n|\
     rustfmt --check|rustup check,component list,doc,show,target list,toolchain list,which|snap find,info,list|\
     supabase status|task --list,--list-all,-l|terraform console,fmt -check,graph,output,providers,show,state list,\
     state show,version,workspace list,workspace show|tox -l,list|unzip -l,-t,-v|uv cache dir,help,pip check,\
     pip freeze,pip list,pip show,pip tree,python find,python list,tool list,tree,version$|vagrant global-status,\
     status|vercel inspect,list,logs,ls,whoami|volta list,which|wget --spider,-O-,-qO-|winget list,search,show|\
     wrangler tail,whoami|xcodebuild -list,-showBuildSettings,-version|yarn -v$,audit$,bin,config get,config list,\
     config ls,docs,explain,fund$,help,info,la,licenses,list,ll,ls,outdated,ping,prefix,query,repo,root,search,show,v,\
     view,whoami,why,workspaces info,workspaces list|yum info,list,repolist,search",
);

/// Options before a subcommand that take the next word as their value.
pub(super) static VALUED: WordList = WordList::phrases(
    "alembic --config,-c,-n,-x|aws --output,--profile,--region|cargo --color,--config,--manifest-path,--target-dir,-C,\
     -Z|composer --working-dir,-d|conda --name,--prefix,-n,-p|docker --config,--context,--env-file,--file,--host,\
     --profile,--project-name,-H,-c,-f,-l,-p|docker-compose --env-file,--file,--profile,--project-name,-f,-p|gh --repo,\
     -R|git --exec-path,--git-dir,--namespace,--work-tree,-C,-c|glab --repo,-R|go -C|gradle --project-dir,-b,-p|\
     helm --kube-context,--kubeconfig,--namespace,-n|hg --repository,-R|jj --repository,-R|kubectl --cluster,--context,\
     --kubeconfig,--namespace,--user,-n,-s|make --directory,--file,-C,-I,-f|mvn --file,-f,-pl,-s|npm --prefix,\
     --workspace,-C,-w|pnpm --dir,--filter,-C,-F|poetry --directory,--project,-C,-P|systemctl -H,-M|uv --directory,\
     --project|vite --config,-c|yarn --cwd",
);

/// Programs that run another program, with the number of operands before it and the options that take the next word.
pub(super) static WRAPPERS: WordList = WordList::phrases(
    "arch 0|builtin 0|caffeinate 0 -t,-w|chronic 0|chrt 1|command 0|cross-env 0|direnv 2|doas 0 -C,-u|env 0 --chdir,\
     --unset,-C,-u|exec 0 -a|flock 1 --timeout,-E,-w|gtimeout 1 --kill-after,--signal,-k,-s|ionice 0 --class,\
     --classdata,-c,-n,-p|nice 0 --adjustment,-n|nohup 0|script 1|setsid 0|stdbuf 0 --error,--input,--output,-e,-i,-o|\
     strace 0 -e,-o,-p,-s|sudo 0 --chdir,--group,--host,--prompt,--user,-C,-D,-R,-T,-U,-g,-h,-p,-r,-t,-u|taskset 1|\
     time 0 --format,--output,-f,-o|timeout 1 --kill-after,--signal,-k,-s|unbuffer 0|watch 0 --interval,-d,-n|\
     xargs 0 --arg-file,--delimiter,--max-args,--max-procs,--replace,-E,-I,-L,-P,-a,-d,-i,-n,-s|\
     xvfb-run 0 --server-args,-n,-s",
);

/// Shell keywords that can precede a program.
pub(super) static KEYWORDS: WordList = WordList::words("! ( coproc do elif else if then until while { }");

/// Shell keywords that start a construct which runs nothing by itself.
pub(super) const CONSTRUCTS: &[&str] = &["case", "for", "foreach", "function", "select"];

/// Options that make any program print something and change nothing.
pub(super) const PRINT_ONLY_OPTIONS: &[&str] = &["--dry-run", "--help", "-WhatIf"];

/// Programs that run a script from a file or from an argument.
pub(super) const INTERPRETERS: &[&str] = &["node", "perl", "php", "python", "ruby", "ts-node", "tsx"];

/// Shells, which run a script from a file or the text after `-c`.
pub(super) const SHELLS: &[&str] = &["bash", "cmd", "dash", "fish", "ksh", "powershell", "pwsh", "sh", "zsh"];

/// File extensions of programs and scripts, mostly on Windows.
pub(super) const EXTENSIONS: &[&str] = &[".exe", ".cmd", ".bat", ".ps1", ".sh"];
