class JikimeMemory < Formula
  desc "Memory for coding agents, as Markdown in the project"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@DOWNLOADS@/jikime-memory-v@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256 aarch64-apple-darwin@"
    end
    on_intel do
      url "@DOWNLOADS@/jikime-memory-v@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256 x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@DOWNLOADS@/jikime-memory-v@VERSION@-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256 aarch64-unknown-linux-gnu@"
    end
    on_intel do
      url "@DOWNLOADS@/jikime-memory-v@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256 x86_64-unknown-linux-gnu@"
    end
  end

  def install
    bin.install "jikime-memory", "jikime-hook"
    generate_completions_from_executable(bin/"jikime-memory", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/jikime-memory --version")
    assert_match version.to_s, shell_output("#{bin}/jikime-hook --version")
  end
end
