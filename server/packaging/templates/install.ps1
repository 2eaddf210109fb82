# Installs jikime-memory and jikime-hook @VERSION@ for this user, after checking the archive's SHA-256.
#
#   irm @REPOSITORY@/releases/latest/download/install.ps1 | iex
#
# $env:JIKIME_INSTALL_DIR    the folder for the programs [default: %LOCALAPPDATA%\Programs\jikime-memory]
# $env:JIKIME_DOWNLOADS      the address of the archives [default: the release]
& {
    $ErrorActionPreference = 'Stop'
    $name = '@WINDOWS_ARCHIVE@'
    $expected = '@SHA256 x86_64-pc-windows-msvc@'
    $downloads = if ($env:JIKIME_DOWNLOADS) { $env:JIKIME_DOWNLOADS } else { '@DOWNLOADS@' }
    $folder = if ($env:JIKIME_INSTALL_DIR) { $env:JIKIME_INSTALL_DIR } else { Join-Path $env:LOCALAPPDATA 'Programs\jikime-memory' }
    $scratch = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $scratch | Out-Null
    try {
        $archive = Join-Path $scratch 'archive.zip'
        Invoke-WebRequest -UseBasicParsing -Uri "$downloads/$name.zip" -OutFile $archive
        $found = (Get-FileHash -Algorithm SHA256 -Path $archive).Hash.ToLowerInvariant()
        if ($found -ne $expected) {
            throw "jikime-memory: the SHA-256 of $name.zip is $found, but must be $expected; nothing was installed"
        }
        Expand-Archive -Path $archive -DestinationPath $scratch
        New-Item -ItemType Directory -Force -Path $folder | Out-Null
        foreach ($program in 'jikime-memory.exe', 'jikime-hook.exe') {
            $target = Join-Path $folder $program
            # Windows cannot overwrite a running program, but can rename it.
            if (Test-Path $target) {
                Remove-Item -Force -ErrorAction SilentlyContinue "$target.old"
                Move-Item -Force $target "$target.old"
            }
            Copy-Item (Join-Path $scratch "$name\$program") $target
            Remove-Item -Force -ErrorAction SilentlyContinue "$target.old"
        }
        Write-Output "Installed $(& (Join-Path $folder 'jikime-memory.exe') --version) in $folder."
        $path = [Environment]::GetEnvironmentVariable('Path', 'User')
        if (($path -split ';') -notcontains $folder) {
            [Environment]::SetEnvironmentVariable('Path', (@($path, $folder) | Where-Object { $_ }) -join ';', 'User')
            Write-Output "Added $folder to PATH. Open a new terminal to use it."
        }
        Write-Output 'Next: cd your-project; jikime-memory init'
    }
    finally {
        Remove-Item -Recurse -Force -ErrorAction SilentlyContinue $scratch
    }
}
