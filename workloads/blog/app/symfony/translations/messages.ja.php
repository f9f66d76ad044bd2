<?php

declare(strict_types=1);

return [
    'title.blog' => 'ブログ',
    'title.latest' => '最新の記事',
    'title.tagged' => '%tag% の記事',
    'menu.posts' => '記事',
    'menu.language' => '言語',
    'post.by' => '投稿者: %author%',
    'post.none' => '記事が見つかりません。',
    'page.previous' => '前へ',
    'page.next' => '次へ',
    'page.current' => '(現在のページ)',
    'sidebar.about' => 'このページは、ページ送り、タグ、著者、日付のあるブログの一覧です。',
    'footer.licence' => '%licence% ライセンスで提供されています。',
];
